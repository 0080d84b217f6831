"""Starts the hook fast: ``python -I -S hook_launcher.py --agent NAME``.

Without ``site`` an interpreter starts in a third of the time but finds no installed package, so this
file adds the folder that it is installed in. At the end of the path: nothing there may shadow the
standard library.
"""

import gc
import sys

gc.disable()  # nothing that a process of 30 ms leaves behind is worth looking for
sys.path.append(__file__.rpartition("/")[0].rpartition("/")[0] or "/")

pack = None
try:
    from loopguard_core.packed import Packed

    pack = Packed(__file__)
    sys.meta_path.insert(0, pack)
except ImportError:  # a Python that imports in another way: all is found as ever
    pass

try:
    from loopguard_core.hook import main  # now, so that it is found in the pack

    main(leaving=pack.keep if pack else bool)
except Exception as error:  # noqa: BLE001 - half of an installation raises anything
    sys.stderr.write(
        f"loopguard: the hook cannot run: {error!r}; install loopguard-console again\n"
    )
    sys.exit(1)
