"""The keys: what each does, what it is called, why it would do nothing, and when it counts."""
