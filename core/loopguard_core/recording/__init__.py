"""The read model: a session's log, stepped through and judged again."""
