"""The commands that cluster the rows of a table: ``cluster``, ``path`` and ``groups``."""

import argparse
import math
import shlex
from typing import Any

from hardbayes.cli import options as shared
from hardbayes.cli.by_block import is_larger_than_memory, run_by_block
from hardbayes.cli.messages import (
    about_rows,
    other_warnings,
    predict_or_save,
    profile_lines,
    say,
    table_arguments,
    typed,
    where_files_lie,
    why_so_many,
)
from hardbayes.cli.mixed import is_mixed, run_mixed, said_kinds
from hardbayes.cli.readers import open_tables
from hardbayes.cli.results import (
    check_outputs,
    check_picture,
    csv_bytes,
    json_bytes,
    write_clusters,
    write_figure,
    write_result,
)
from hardbayes.cli.rows import Rows, read_rows
from hardbayes.cli.terminal import CommandError, computed, inputs_of, rounded, shown_name
from hardbayes.core.loop import counted

MAX_SHOWN = 12  # plateaus
MAX_GROUPS = 20


def add_cluster(commands: Any) -> None:
    """Add ``cluster`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "cluster",
        help="cluster the rows of a table",
        description="Cluster the rows of a table; the number of clusters is found.",
    )
    shared.add_table(parser)
    parser.add_argument(
        "--as",
        dest="said",
        type=said_kinds,
        default={},
        metavar="COLUMN=KIND,...",
        help="what columns hold: number, count, ordered, date, yes/no, category or ignore",
    )
    shared.add_divergence(parser, ("mixed",))
    parser.add_argument(
        "--model",
        choices=("means", "gaussian", "kernel"),
        default="means",
        help="round clusters around means (default), clusters with shapes of their own, or of any "
        "shape, by a kernel that is chosen",
    )
    shared.add_search(parser)
    parser.add_argument(
        "--certainty",
        action="store_true",
        help="sample how sure each row is of its cluster, and how many clusters there may be",
    )
    shared.add_results(parser, "the cluster of each row", centers="sizes and centres of clusters")
    parser.set_defaults(run=run_cluster)


def run_cluster(options: argparse.Namespace) -> None:
    """Read, fit, write, tell."""
    check_outputs(options, "output", "centers", "report", "save")
    has_means = options.model == "means"
    if not has_means and options.divergence != "squared_euclidean":
        raise CommandError(f"--model {options.model} has no --divergence; leave one of them out")
    if options.certainty and options.model == "kernel":
        raise CommandError("--certainty has no sampler for --model kernel; leave one of them out")
    if options.certainty:
        check_certainty(options)
    table = open_tables(inputs_of(options), options.header)
    if is_mixed(options, table):
        if options.certainty:
            raise CommandError(
                "--certainty takes tables of numbers alone; leave it out, or name such columns "
                "with --columns"
            )
        run_mixed(options, table)
        return
    if is_larger_than_memory(options, table):
        run_by_block(options, table)
        return
    plain = options.divergence == "squared_euclidean" and options.model != "gaussian"
    rows = read_rows(options, table, scalable=plain)
    model, warned = computed(rows.table.path, lambda: fit_clusters(options, rows), rows.cell)
    sure, more = sampled(options, model, rows)
    penalty = {"cluster_penalty": float(model.cluster_penalty_)}
    profiles = write_clusters(options, model, rows, warned + more, penalty, sure)
    several = model.n_clusters_ > 1
    say(
        "",
        *about_rows(rows),
        *why_so_many(options, model),
        *other_warnings(model, warned + more),
        *(["", *profile_lines(profiles, rows.names)] if several else []),
        *(["", *sure.sentences] if sure is not None else []),
        "",
        *where_files_lie(options, "labels"),
        after_clusters(options, model),
    )


def check_certainty(options: argparse.Namespace) -> None:
    """Raise a CommandError where no sampler has this model as its limit."""
    if options.weight_column is not None:
        raise CommandError("--certainty has no weights of rows; leave it or --weight-column out")
    if options.divergence in ("itakura_saito", "cosine"):
        raise CommandError(
            f"--certainty has no sampler for --divergence {options.divergence}; use "
            "squared_euclidean, kl, poisson or logistic, or leave it out"
        )


def sampled(options: argparse.Namespace, model: Any, rows: Rows) -> tuple[Any, list[str]]:
    """Return the `Certainty` of a model, None where it is not wanted, and warnings."""
    if not options.certainty:
        return None, []
    from hardbayes import certainty

    def draw() -> Any:
        return certainty(model, rows.X, random_state=options.seed)

    return computed(rows.table.path, draw, rows.cell)


def fit_clusters(options: argparse.Namespace, rows: Rows) -> Any:
    """Return the fitted model, its clusters numbered by size where they can be."""
    from hardbayes import DPMeans, GaussianDPMeans, KernelDPMeans, by_size

    given: dict[str, Any] = {
        "n_clusters": options.k, "search": options.search, "random_state": options.seed
    }  # fmt: skip
    estimator: Any
    if options.model == "gaussian":
        estimator = GaussianDPMeans(options.penalty, **given)
    elif options.model == "kernel":
        # Clusters by a kernel keep the order in which they were found.
        return KernelDPMeans(options.penalty, **given).fit(rows.X, sample_weight=rows.weights)
    else:
        estimator = DPMeans(options.penalty, divergence=options.divergence, **given)
    return by_size(estimator.fit(rows.X, sample_weight=rows.weights))


def after_clusters(options: argparse.Namespace, model: Any) -> str:
    """Return what to type next: the path, where one cluster was found."""
    if options.save is None and model.n_clusters_ == 1 and options.model == "means":
        return f"Next: hardbayes path {table_arguments(options)}"
    return predict_or_save(options)


def add_path(commands: Any) -> None:
    """Add ``path`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "path",
        help="show how many clusters a table has at which penalty",
        description="Solve at all penalties, print the numbers of clusters that are best at some "
        "penalty, and draw them. A number that the data really have is best over a wide range.",
    )
    shared.add_table(parser)
    shared.add_divergence(parser)
    shared.add_seed(parser)
    group = parser.add_argument_group("results")
    group.add_argument("-o", "--output", metavar="FILE", help="where to write the plateaus")
    group.add_argument("--json", action="store_true", help="write them as JSON")
    group.add_argument("--plot", metavar="PICTURE", help="draw them (.png, .pdf or .svg)")
    shared.add_overwrite(group)
    parser.set_defaults(run=run_path)


def run_path(options: argparse.Namespace) -> None:
    """Read, trace, write, tell."""
    check_outputs(options, "output", "plot")
    if options.plot is not None:
        check_picture(options.plot)
    rows = read_rows(options, scalable=options.divergence == "squared_euclidean")
    path, warned = computed(rows.table.path, lambda: trace_path(options, rows), rows.cell)
    plateaus = sorted(path.plateaus, key=lambda plateau: plateau.k)
    best = path.suggest()
    if options.plot is not None:
        write_figure(path.plot().figure_, options.plot)
    columns: dict[str, list[Any]] = {
        "n_clusters": [p.k for p in plateaus],
        "penalty": [float(p.middle) for p in plateaus],
        "lowest": [float(p.low) for p in plateaus],
        "highest": [float(p.high) for p in plateaus],
        "suggested": [int(p.low <= best <= p.high) for p in plateaus],
    }
    if options.json:
        found = {"file": str(rows.table.path), "suggested_penalty": float(best), **columns}
        write_result(options, json_bytes(found))
    else:
        write_result(options, csv_bytes(columns, options.output))
    say(
        "",
        *about_rows(rows),
        *(f"Note: {line}" for line in warned),
        *plateau_lines(plateaus, best),
        "",
        *where_files_lie(options, "plateaus"),
        after_path(options, plateaus, best),
    )


def trace_path(options: argparse.Namespace, rows: Any) -> Any:
    """Return the path of penalties."""
    from hardbayes import DPMeans, penalty_path

    estimator = DPMeans(divergence=options.divergence, random_state=options.seed)
    return penalty_path(rows.X, estimator=estimator, sample_weight=rows.weights)


def plateau_lines(plateaus: list[Any], best: float) -> list[str]:
    """Return the widest plateaus as lines of text."""
    widest = sorted(plateaus, key=lambda plateau: -plateau.width)[:MAX_SHOWN]
    lines = ["clusters   penalties                     a factor of"]
    for p in sorted(widest, key=lambda plateau: plateau.k):
        span = f"{rounded(p.low)} to {rounded(p.high)}"
        wide = f"{math.exp(p.width):.3g}" if p.width < 700 else "any size"
        mark = "   <- suggested" if p.low <= best <= p.high else ""
        lines.append(f"{p.k:8d}   {span:28s}  {wide:>11s}{mark}")
    if len(plateaus) > MAX_SHOWN:
        lines.append(f"    ... and {len(plateaus) - MAX_SHOWN} narrower ones")
    if not any(p.low <= best <= p.high for p in plateaus):
        lines.append("No number of clusters stands out from data without structure.")
    return lines


def after_path(options: argparse.Namespace, plateaus: list[Any], best: float) -> str:
    """Return what to type next."""
    if options.plot is None:
        return f"Next: {typed(options)} --plot path.png"
    widest = max(plateaus, key=lambda plateau: plateau.width, default=None)
    chosen = next((p.k for p in plateaus if p.low <= best <= p.high), widest and widest.k)
    return f"Next: hardbayes cluster {table_arguments(options)} --k {chosen or 2}"


def add_groups(commands: Any) -> None:
    """Add ``groups`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "groups",
        help="cluster rows in groups that share clusters",
        description="Cluster rows that come in groups: groups share clusters, and each pays for "
        "those it uses.",
    )
    shared.add_table(parser)
    parser.add_argument(
        "--group-column", metavar="COLUMN", required=True, help="the group of each row"
    )
    for name, what in (("local", "each cluster costs each group"), ("global", "a cluster costs")):
        parser.add_argument(
            f"--{name}-penalty",
            type=shared.penalty,
            default="auto",
            metavar="auto|X",
            help=f"what {what} (default: auto)",
        )
    most = parser.add_mutually_exclusive_group()
    most.add_argument("--max-clusters", type=shared.number, metavar="K", help="the most clusters")
    shared.add_told(most, "clusters")
    shared.add_seed(parser)
    shared.add_results(parser, "the cluster of each row", centers="sizes and centres of clusters")
    parser.set_defaults(run=run_groups)


def run_groups(options: argparse.Namespace) -> None:
    """Read, fit, write, tell."""
    check_outputs(options, "output", "centers", "report", "save")
    rows = read_rows(options)
    model, warned = computed(rows.table.path, lambda: fit_groups(options, rows), rows.cell)
    as_json = {
        "local_penalty": float(model.local_penalty_),
        "global_penalty": float(model.global_penalty_),
        "centers": rows.preparation.in_own_units(model.cluster_centers_).tolist(),
        "groups": [str(group) for group in model.groups_],
        "group_cluster_weights": model.group_cluster_weights_.tolist(),
    }
    profiles = write_clusters(options, model, rows, warned, as_json)
    say(
        "",
        *about_rows(rows, f" in {counted(len(model.groups_), 'group')}"),
        f"Found {counted(model.n_clusters_, 'cluster')}: each costs "
        f"{rounded(model.global_penalty_)}, and {rounded(model.local_penalty_)} in each group "
        "that uses it.",
        *(f"Note: {line}" for line in warned),
        "",
        *profile_lines(profiles, rows.names),
        "",
        *group_lines(model),
        "",
        *where_files_lie(options, "labels"),
        predict_or_save(options, f"NEW_TABLE --group-column {shlex.quote(options.group_column)}"),
    )


def fit_groups(options: argparse.Namespace, rows: Rows) -> Any:
    """Return the fitted model, its clusters numbered by size."""
    from hardbayes import HDPMeans, by_size

    model = HDPMeans(
        options.local_penalty,
        options.global_penalty,
        n_clusters=options.k,
        max_clusters=options.max_clusters,
        random_state=options.seed,
    )
    return by_size(model.fit(rows.X, sample_weight=rows.weights, groups=rows.groups))


def group_lines(model: Any) -> list[str]:
    """Return the shares of clusters in each group as lines of text."""
    shown = range(min(model.n_clusters_, 10))
    title = "share of cluster"
    lines = [f"{title:24s}" + "".join(f"{k:6d}" for k in shown)]
    for group, weights in list(zip(model.groups_, model.group_cluster_weights_, strict=True))[
        :MAX_GROUPS
    ]:
        total = max(weights.sum(), 1e-300)
        cells = "".join(
            f"{100 * weights[k] / total:5.0f}%" if weights[k] else "     ." for k in shown
        )
        lines.append(f"{shown_name(str(group), 24):24s}{cells}")
    if len(model.groups_) > MAX_GROUPS:
        lines.append(f"    ... and {len(model.groups_) - MAX_GROUPS} more groups")
    return lines
