"""Pictures of results, as files."""

import io
from pathlib import Path
from typing import Any

from hardbayes.cli.errors import CommandError, cannot_write
from hardbayes.cli.files import write_atomically

ENDINGS = (".png", ".pdf", ".svg")


def check_ending(name: Path | str) -> None:
    """Raise a CommandError unless the name of a picture tells its format."""
    if Path(name).suffix.lower() not in ENDINGS:
        raise cannot_write(name, f"a picture's name ends in {', '.join(ENDINGS)}")


def check_picture(name: str) -> None:
    """Raise a CommandError unless pictures of this kind can be drawn."""
    check_ending(name)
    from hardbayes.plot._matplotlib import check_matplotlib

    try:
        check_matplotlib("--plot")
    except ImportError as error:
        raise CommandError(str(error)) from error


def write_figure(figure: Any, name: Path | str) -> None:
    """Write a figure of matplotlib."""
    picture = io.BytesIO()
    figure.savefig(picture, format=Path(name).suffix[1:].lower(), dpi=150)
    write_atomically(Path(name), picture.getvalue())
