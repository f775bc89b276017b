"""Late imports that Ctrl-C cannot leave unfinished."""

import sys
from contextlib import suppress
from importlib import import_module
from threading import Thread


def import_whole(name: str) -> None:
    """Import a module completely, even if Ctrl-C arrives meanwhile.

    A partially imported numba cannot be used again in the same process. Ctrl-C is raised in the
    main thread only, so another thread imports while the caller waits.
    """
    if name in sys.modules:
        return

    def work() -> None:
        with suppress(Exception):  # the caller's own import raises it again
            import_module(name)

    thread = Thread(target=work, name=f"import {name}")
    thread.start()
    thread.join()
