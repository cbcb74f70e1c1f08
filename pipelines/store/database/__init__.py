"""The database of the store: the connection, the tables, and observations and feedback as rows."""
