"""``hardbayes groups``: clusters that groups of rows share."""

import argparse
import shlex
from typing import Any

from hardbayes.cli import options as shared
from hardbayes.cli.messages import about_rows, predict_or_save, say, where_files_lie
from hardbayes.cli.models import profile_lines
from hardbayes.cli.results import check_outputs, write_clusters
from hardbayes.cli.rows import Rows, read_rows
from hardbayes.cli.terminal import computed, counted, rounded, shown_name

MOST_GROUPS = 20


def add_parser(commands: Any) -> None:
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
    parser.add_argument("--max-clusters", type=shared.number, metavar="K", help="the most clusters")
    shared.add_seed(parser)
    shared.add_results(parser, "the cluster of each row", centers="sizes and centres of clusters")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, fit, write, tell."""
    check_outputs(options, "output", "centers", "report", "save")
    rows = read_rows(options)
    model, warned = computed(rows.table.path, lambda: fitted(options, rows), rows.cell)
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


def fitted(options: argparse.Namespace, rows: Rows) -> Any:
    """Return the fitted model, its clusters numbered by size."""
    from hardbayes import HDPMeans, by_size

    model = HDPMeans(
        options.local_penalty,
        options.global_penalty,
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
        :MOST_GROUPS
    ]:
        total = max(weights.sum(), 1e-300)
        cells = "".join(
            f"{100 * weights[k] / total:5.0f}%" if weights[k] else "     ." for k in shown
        )
        lines.append(f"{shown_name(str(group), 24):24s}{cells}")
    if len(model.groups_) > MOST_GROUPS:
        lines.append(f"    ... and {len(model.groups_) - MOST_GROUPS} more groups")
    return lines
