"""The half of loopguard-console that runs inside the agent. Standard library only."""

__version__ = "0.1.0"
