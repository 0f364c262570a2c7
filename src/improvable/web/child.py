"""One command in a process of its own, which ends when the server that started it does.

`python -m improvable.web.child ARGUMENTS` is `python -m improvable ARGUMENTS`; it leaves when its standard input
closes, as it does when the server is killed. A run that leaves is resumed from its folder.
"""

import os
import runpy
import sys
import threading

INTERRUPTED = 130


def _leave_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    sys.argv[0] = "improvable"
    runpy.run_module("improvable", run_name="__main__", alter_sys=True)
