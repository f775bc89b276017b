"""Imports that come late, and whole."""

import sys
from contextlib import suppress
from importlib import import_module
from threading import Thread


def import_whole(name: str) -> None:
    """Import a module to its end, even where Ctrl-C comes in between.

    numba that was imported by half could never be used again in that process. Ctrl-C goes to the
    main thread alone: so another one imports, and who waits for it may be interrupted.
    """
    if name in sys.modules:
        return

    def work() -> None:
        with suppress(Exception):  # whoever imports it next is told
            import_module(name)

    thread = Thread(target=work, name=f"import {name}")
    thread.start()
    thread.join()
