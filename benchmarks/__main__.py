"""``python -m benchmarks [NAME ...] [--quick] [--repeats N] [--graphs FILE] [--output FILE]``."""

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks import (
    choosing,
    choosing_discrete,
    choosing_features,
    choosing_groups,
    choosing_kernels,
    choosing_topics,
    cold,
    communities,
    divergences,
    exact_k,
    features,
    gaussian,
    graphs,
    groups,
    kernels,
    machine,
    memory,
    mixed,
    quality,
    real,
    recovery,
    samplers,
    scale,
    search_cost,
    small,
    sparse,
    sparse_sweeps,
    streams,
    tables,
    text,
    threads,
    topics,
    whole_fits,
)
from benchmarks.options import THREADS, Options
from benchmarks.report import Section, to_markdown
from benchmarks.timing import progress

SECTIONS: dict[str, Callable[[Options], Section]] = {
    "quality": quality.run,
    "exact-k": exact_k.run,
    "recovery": recovery.run,
    "choosing": choosing.run,
    "choosing-discrete": choosing_discrete.run,
    "tables": tables.run,
    "gaussian": gaussian.run,
    "search-cost": search_cost.run,
    "real": real.run,
    "whole-fits": whole_fits.run,
    "sparse": sparse.run,
    "sparse-sweeps": sparse_sweeps.run,
    "text": text.run,
    "small": small.run,
    "cold": cold.run,
    "threads": threads.run,
    "memory": memory.run,
    "divergences": divergences.run,
    "features": features.run,
    "choosing-features": choosing_features.run,
    "groups": groups.run,
    "choosing-groups": choosing_groups.run,
    "topics": topics.run,
    "choosing-topics": choosing_topics.run,
    "graphs": graphs.run,
    "communities": communities.run,
    "kernels": kernels.run,
    "choosing-kernels": choosing_kernels.run,
    "mixed": mixed.run,
    "samplers": samplers.run,
    "streams": streams.run,
    "scale": scale.run,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sections asked for; return 1 where one of them failed, whatever the times."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if unknown := sorted(set(asked.names) - set(SECTIONS)):
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    repeats = (1 if asked.quick else 5) if asked.repeats is None else asked.repeats
    if repeats < 1:
        parser.error(f"--repeats must be at least 1. Got {repeats} instead.")
    if asked.jobs < 1:
        parser.error(f"--jobs must be at least 1. Got {asked.jobs} instead.")
    if asked.draws is not None and asked.draws < 1:
        parser.error(f"--draws must be at least 1. Got {asked.draws} instead.")
    options = Options(
        repeats=repeats,
        quick=asked.quick,
        graphs=tuple(asked.graphs),
        sets=tuple(asked.sets),
        tables=asked.tables,
        draws=asked.draws,
        rows=tuple(asked.rows),
        jobs=asked.jobs,
    )
    header = machine.header(options)
    sections: list[Section] = []
    failed = False
    begin = time.perf_counter()
    with threadpool_limits(THREADS):
        for name in dict.fromkeys(asked.names or SECTIONS):
            try:
                sections.append(SECTIONS[name](options))
            except Exception:
                # The other sections are worth having.
                failed = True
                trace = traceback.format_exc()
                progress(f"{name} failed\n{trace}")
                sections.append(Section(f"{name} failed", [], f"```\n{trace}```"))
            # Written after every section: an interrupted run keeps what it has.
            if asked.output:
                asked.output.write_text(to_markdown(header, sections), encoding="utf-8")
    progress(f"done in {time.perf_counter() - begin:.0f} s")
    sys.stdout.write(to_markdown(header, sections))
    return int(failed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Compare results, speed and memory of hardbayes with its peers and targets.",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"sections to run, all unless given: {', '.join(SECTIONS)}",
    )
    parser.add_argument("--quick", action="store_true", help="toy sizes, about a minute")
    parser.add_argument(
        "--repeats", type=int, help="rounds of each comparison (default: 5, or 1 with --quick)"
    )
    parser.add_argument(
        "--graphs",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="edge lists, or .npz files, for the sections graphs and communities",
    )
    parser.add_argument(
        "--sets",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="labelled sets as .npz files, for choosing and streams; counts, for choosing-topics",
    )
    parser.add_argument(
        "--tables",
        type=Path,
        metavar="FOLDER",
        help="a folder of CSV files with a column label, for the section mixed",
    )
    parser.add_argument(
        "--draws", type=int, help="draws without structure, for the sections choosing* and mixed"
    )
    parser.add_argument(
        "--rows", type=int, nargs="+", default=[], metavar="N", help="sizes for the section scale"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="processes for choosing, choosing-discrete, choosing-kernels, communities, mixed and "
        "tables: the same numbers sooner, and times of a busy machine",
    )
    parser.add_argument("--output", type=Path, metavar="FILE.md", help="write the report here too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
