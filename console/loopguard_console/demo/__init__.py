"""Scripted agents that loop, without network or keys, so that anyone can watch the guard at work."""
