"""Where a person stands in a chain, and which of its lines are shown. No Textual in here."""
