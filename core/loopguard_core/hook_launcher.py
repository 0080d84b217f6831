"""Starts the hook fast: ``python -I -S hook_launcher.py --agent NAME``.

Without ``site`` an interpreter starts in a third of the time but finds no installed package, so this
file adds the folder that it is installed in. At the end of the path: nothing there may shadow the
standard library.
"""

import gc
import sys

gc.disable()  # nothing that a process of 30 ms leaves behind is worth looking for
sys.path.append(__file__.rpartition("/")[0].rpartition("/")[0] or "/")

from loopguard_core.packed import Packed  # noqa: E402 - both come first

pack = Packed(__file__)
sys.meta_path.insert(0, pack)

from loopguard_core.hook import main  # noqa: E402 - so that it is found in the pack

main(leaving=pack.keep)
