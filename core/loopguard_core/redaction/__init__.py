"""Secrets, taken out before anything is written."""
