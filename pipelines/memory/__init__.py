"""What an assistant is given, and what the person says: profile, predictions, feedback."""
