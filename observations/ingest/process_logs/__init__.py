"""Event logs of process mining: XES and OCEL."""
