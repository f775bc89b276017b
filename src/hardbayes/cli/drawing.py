"""Pictures of results, as files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from hardbayes.cli.errors import CommandError, cannot_write
from hardbayes.cli.files import write_atomically

ENDINGS = (".png", ".pdf", ".svg")


def check_picture(name: str) -> None:
    """Raise a CommandError unless pictures of this kind can be drawn."""
    if Path(name).suffix.lower() not in ENDINGS:
        raise cannot_write(name, f"a picture's name ends in {', '.join(ENDINGS)}")
    from hardbayes.plot._matplotlib import check_matplotlib

    try:
        check_matplotlib("--plot")
    except ImportError as error:
        raise CommandError(str(error)) from error


def write_picture(display: Any, name: str) -> None:
    """Write the figure of a display."""
    picture = io.BytesIO()
    display.figure_.savefig(picture, format=Path(name).suffix[1:].lower(), dpi=150)
    write_atomically(Path(name), picture.getvalue())
