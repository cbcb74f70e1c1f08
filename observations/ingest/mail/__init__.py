"""Mail: mbox files, maildirs and single messages."""
