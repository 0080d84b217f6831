"""The event store: one contract, several engines."""
