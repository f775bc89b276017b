"""A folder of pictures of one size as a table: a row for each, a column for each pixel."""

from functools import cached_property
from pathlib import Path

import numpy as np

from hardbayes.cli.errors import CommandError, cannot_read
from hardbayes.cli.tables import Cells, Table, new_matrix

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".pgm", ".ppm")


class PictureTable(Table):
    """Pictures in a folder, in shades of grey from 0 to 1."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.files = sorted(f for f in path.iterdir() if f.suffix.lower() in ENDINGS)
        if not self.files:
            raise cannot_read(path, "it is a folder without pictures; name a table")
        self.n_rows = len(self.files)
        self.shape = self._pixels(self.files[0]).shape

    @cached_property
    def names(self) -> list[str]:  # type: ignore[override]
        """The pixels, by row and column."""
        height, width = self.shape
        return [f"r{i}c{j}" for i in range(height) for j in range(width)]

    @cached_property
    def kinds(self) -> dict[str, str]:
        """All numbers."""
        return dict.fromkeys(self.names, "number")

    def read(self, numbers: list[str], texts: list[str]) -> Cells:
        """Return the pixels of all pictures."""
        where = {name: j for j, name in enumerate(self.names)}
        columns = [where[name] for name in numbers]
        matrix = new_matrix(self.n_rows, len(columns))
        for row, file in enumerate(self.files):
            pixels = self._pixels(file)
            if pixels.shape != self.shape:
                sizes = [f"{width} x {height}" for height, width in (pixels.shape, self.shape)]
                raise CommandError(
                    f"{file}: it is {sizes[0]} and {self.files[0].name} is {sizes[1]}; make all "
                    "pictures of one size"
                )
            matrix[row] = pixels.ravel()[columns]
        return Cells(matrix, {name: [None] * self.n_rows for name in texts})

    @property
    def row_ids(self) -> list[str | None]:
        """Names of the pictures."""
        return [file.name for file in self.files]

    def row_name(self, row: int) -> str:
        """Return the name of a picture."""
        return self.files[row].name

    def _pixels(self, file: Path) -> np.ndarray:
        try:
            from PIL import Image
        except ImportError as error:
            raise cannot_read(
                file, 'pillow is missing. Install it: pip install "hardbayes[app]"'
            ) from error
        try:
            with Image.open(file) as picture:
                return np.asarray(picture.convert("L"), np.float64) / 255
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise cannot_read(file, "it is not a picture, or damaged") from error
