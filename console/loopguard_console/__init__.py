"""The half of loopguard-console that runs in the human's terminal."""
