"""``python -m loopguard_console``."""

from loopguard_console.entry import main

main()
