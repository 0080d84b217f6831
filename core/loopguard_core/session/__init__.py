"""A session as the agent's process lives it: judge, append, wait."""
