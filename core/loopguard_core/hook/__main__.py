"""``python -m loopguard_core.hook``."""

from loopguard_core.hook.process import main

main()
