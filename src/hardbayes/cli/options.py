"""Options that several commands share."""

import argparse
import math
import sys
from typing import Any

DIVERGENCES = ("squared_euclidean", "kl", "poisson", "itakura_saito", "logistic", "cosine")
LARGEST = sys.float_info.max
MOST = 10**9  # clusters


def any_penalty(text: str) -> float | str:
    """Return "auto" or a number of any sign, as an option gives it."""
    return text if text == "auto" else _number(float, text, "auto or a number")


def penalty(text: str) -> float | str:
    """Return "auto" or a number from 0 on."""
    return text if text == "auto" else _number(float, text, "auto or a number of 0 or more", 0)


def number(text: str) -> int:
    """Return a number of clusters, one at least."""
    return int(_number(int, text, f"a whole number from 1 to {MOST}", 1, MOST))


def seed(text: str) -> int:
    """Return a seed that NumPy accepts."""
    return int(_number(int, text, "a whole number from 0 to 4294967295", 0, 2**32 - 1))


def share(text: str) -> float:
    """Return a share between 0 and 1."""
    least, most = math.nextafter(0, 1), math.nextafter(1, 0)
    return _number(float, text, "a number between 0 and 1, such as 0.01", least, most)


def _number(
    kind: type, text: str, what: str, least: float = -LARGEST, most: float = LARGEST
) -> float:
    """Return the number that an option gives; raise where it is none, or out of range."""
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(f"must be {what}, not {text[:40]!r}")
    return value


def add_table(parser: argparse.ArgumentParser) -> None:
    """Add the table and how its columns are used."""
    parser.add_argument(
        "tables",
        metavar="TABLE",
        nargs="+",
        help="a .csv, .tsv, .xlsx, .parquet, .npy or .npz file, a folder of pictures, or - for "
        "text on standard input; rows of several with the same columns are taken together",
    )
    group = parser.add_argument_group("columns")
    group.add_argument(
        "--columns", nargs="+", metavar="COLUMN", help="use these (default: all that hold numbers)"
    )
    group.add_argument("--exclude", nargs="+", metavar="COLUMN", help="leave these out")
    group.add_argument("--id-column", metavar="COLUMN", help="names the rows in the result")
    group.add_argument("--weight-column", metavar="COLUMN", help="weights of the rows")
    group.add_argument(
        "--encode", action="store_true", help="make a column of 0 and 1 of each value of text"
    )
    group.add_argument(
        "--missing",
        choices=("refuse", "drop", "mean"),
        default="refuse",
        help="rows with missing values: stop and name them (default), leave them out, or fill in "
        "means",
    )
    group.add_argument(
        "--standardize",
        action=argparse.BooleanOptionalAction,
        help="divide columns by their standard deviations (default: where half of them would have "
        "no say otherwise)",
    )
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first line of a text table holds names (default: unless all numbers)",
    )


def add_search(parser: argparse.ArgumentParser, *, about: str = "clusters") -> None:
    """Add what decides how many clusters or features there are, and the search for them."""
    add_number(parser, about)
    parser.add_argument(
        "--search",
        choices=("split-merge", "paper"),
        default="split-merge",
        help="how to minimise: the published algorithm and more (default), or it alone",
    )
    add_seed(parser)


def add_number(parser: argparse.ArgumentParser, about: str, kind: Any = penalty) -> None:
    """Add the penalty and, instead of it, a number; ``kind`` reads the penalty."""
    one = parser.add_mutually_exclusive_group()
    one.add_argument(
        "--penalty",
        type=kind,
        default="auto",
        metavar="auto|X",
        help=f"what each of the {about} costs (default: auto, found from the data)",
    )
    add_told(one, about)


def add_told(group: Any, about: str) -> None:
    """Add the number of clusters or features; the name it had first stays."""
    group.add_argument(
        "--k",
        "--about-k",
        dest="k",
        type=number,
        metavar="K",
        help=f"exactly K {about} (--about-k is the same)",
    )


def add_divergence(parser: argparse.ArgumentParser, more: tuple[str, ...] = ()) -> None:
    """Add the divergence, one of those of all commands or of more."""
    parser.add_argument(
        "--divergence",
        choices=(*DIVERGENCES, *more),
        default="squared_euclidean",
        help="how far rows are from a centre (default: %(default)s)",
    )


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add the seed."""
    parser.add_argument(
        "--seed", type=seed, default=0, metavar="N", help="seed of the search (default: 0)"
    )


def add_results(
    parser: argparse.ArgumentParser, what: str, *, centers: str | None = None, rows: bool = True
) -> None:
    """Add where results are written."""
    group = parser.add_argument_group("results")
    group.add_argument(
        "-o", "--output", metavar="FILE", help=f"where to write {what} (default: standard output)"
    )
    group.add_argument("--json", action="store_true", help="write everything found as JSON")
    if centers:
        group.add_argument("--centers", metavar="FILE", help=f"write {centers} as CSV")
    group.add_argument("--report", metavar="FILE.html", help="write a report to open in a browser")
    group.add_argument("--save", metavar="MODEL", help="write the model, for `hardbayes predict`")
    if rows:
        add_append(group)
    add_overwrite(group)


def add_append(group: Any) -> None:
    """Add the option to write the whole table."""
    group.add_argument(
        "--append", action="store_true", help="write the whole table with the result added"
    )


def add_overwrite(group: Any) -> None:
    """Add the permission to replace files."""
    group.add_argument("--overwrite", action="store_true", help="replace files that exist")
