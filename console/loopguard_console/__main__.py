"""``python -m loopguard_console``."""

from loopguard_console.cli import main

main()
