"""Tables: CSV, Parquet, and rows that become observations."""
