"""The door for a command-line agent: one process for each of its calls."""
