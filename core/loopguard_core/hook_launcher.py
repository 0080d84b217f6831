"""Starts the hook fast: ``python -I -S hook_launcher.py --agent NAME``.

Without ``site`` an interpreter starts in a third of the time but finds no installed package, so this
file adds the folder that it is installed in. At the end of the path: nothing there may shadow the
standard library.
"""

import _signal  # type: ignore[import-not-found]
import gc
import sys

gc.disable()  # nothing that a process of 30 ms leaves behind is worth looking for
# Ctrl-C while it starts ends it without a traceback.
if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
sys.path.append(__file__.rpartition("/")[0].rpartition("/")[0] or "/")

try:
    from loopguard_core.hook.process import main

    main()
except Exception as error:  # noqa: BLE001 - half of an installation raises anything
    sys.stderr.write(
        f"loopguard: the hook cannot run: {error!r}; install loopguard-console again\n"
    )
    sys.exit(1)
