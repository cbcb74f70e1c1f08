"""Rules: one class for each shape of rule in the contract (section 3)."""
