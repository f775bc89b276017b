"""Which reader a file needs, by the end of its name."""

from pathlib import Path

from hardbayes.cli.array_tables import ParquetTable, npy_table, npz_table
from hardbayes.cli.delimited_tables import DelimitedTable
from hardbayes.cli.errors import cannot_read
from hardbayes.cli.picture_tables import PictureTable
from hardbayes.cli.tables import Table
from hardbayes.cli.text_layout import open_binary

_TEXT = (".csv", ".tsv", ".tab", ".txt", ".data", ".dat")
_OTHERS = {".parquet": ParquetTable, ".pq": ParquetTable, ".npy": npy_table, ".npz": npz_table}


def open_table(name: str, header: bool | None = None) -> Table:
    """Return the table in a file; raise a CommandError where it is none."""
    path = Path(name)
    suffix = path.suffix.lower()
    if path.is_dir():
        return PictureTable(path)
    if suffix in _OTHERS:
        return _OTHERS[suffix](path)
    if suffix in _TEXT:
        return DelimitedTable(path, header)
    open_binary(path).close()
    known = ", ".join([".csv", ".tsv", ".parquet", ".npy", ".npz"])
    raise cannot_read(path, f"tables end in {known}; save it as one of these")
