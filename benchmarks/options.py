"""What the command line says to every section."""

from dataclasses import dataclass
from pathlib import Path

#: Every contestant runs with this many threads, so that ratios compare between machines.
THREADS = 2


@dataclass(frozen=True)
class Options:
    """How much to run."""

    repeats: int = 5
    quick: bool = False
    graphs: tuple[Path, ...] = ()  # files of more graphs
    sets: tuple[Path, ...] = ()  # files of labelled sets
    tables: Path | None = None  # a folder of labelled CSV files
    draws: int | None = None  # without structure
    rows: tuple[int, ...] = ()  # sizes of files
    jobs: int = 1  # processes of batteries that choose something

    def repeats_up_to(self, most: int) -> int:
        """Return the number of repeats of something so slow that `most` are enough."""
        return min(self.repeats, most)
