"""The import of polars, which reads tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hardbayes.cli.errors import cannot_read


def import_polars(path: Path) -> Any:
    """Return polars; raise a CommandError with the command that installs it where it is missing."""
    try:
        import polars as pl
    except ImportError as error:
        raise cannot_read(
            path, 'polars is missing. Install it: pip install "hardbayes[app]"'
        ) from error
    return pl
