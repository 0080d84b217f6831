"""The guard policies and their registry."""
