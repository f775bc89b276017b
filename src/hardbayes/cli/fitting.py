"""A fit or a prediction whose errors and warnings become plain lines."""

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from hardbayes.cli.errors import CommandError, one_line
from hardbayes.cli.spinner import working

_T = TypeVar("_T")
_CELL = re.compile(r"row (\d+), column (\d+)")


def computed(
    path: Path | str, compute: Callable[[], _T], cell: Callable[[int, int], str] | None = None
) -> tuple[_T, list[str]]:
    """Return what a function of the library returns, and its warnings as lines.

    Its errors on data become one line that names the file; ``cell`` gives the words for a row and
    a column, which the library counts from 0.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Names of columns are matched by the command.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        try:
            with working("computing"):
                value = compute()
        except MemoryError as error:
            raise CommandError(f"{path}: not enough memory; use fewer rows or columns") from error
        except (ValueError, TypeError, ArithmeticError) as error:
            text = one_line(str(error))
            if cell is not None:
                text = _CELL.sub(lambda found: cell(int(found[1]), int(found[2])), text)
            raise CommandError(f"{path}: {text}") from error
    return value, list(dict.fromkeys(one_line(str(w.message)) for w in caught))
