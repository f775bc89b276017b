"""Which clusters the groups of a model use."""

from typing import Any

import numpy as np

from hardbayes.markup import tag
from hardbayes.reports.numbers import percent, short
from hardbayes.reports.sections.tables import Section, mark, section, table

_MOST_GROUPS = 40
_MOST_CLUSTERS = 14
_LEVELS = (0.1, 0.3, 0.5, 0.7)  # shares of a group from which on a cell is darker


def groups_section(model: Any) -> Section | None:
    """Return the share of each cluster in each group; None where there is one group."""
    weights = np.asarray(model.group_cluster_weights_, np.float64)
    n_groups, k = weights.shape
    if n_groups == 1:
        return None
    totals = weights.sum(axis=1)
    shown = np.sort(np.argsort(-weights.sum(axis=0), kind="stable")[:_MOST_CLUSTERS])
    rows = []
    for group in np.argsort(-totals, kind="stable")[:_MOST_GROUPS]:
        cells = []
        for cluster in shown:
            share = weights[group, cluster] / totals[group] if totals[group] else 0.0
            steps = sum(share >= least for least in _LEVELS)
            told = percent(share) if share else "-"
            cells.append(tag("td", told, class_=f"number above{steps}" if steps else "number"))
        name = str(model.groups_[group])
        rows.append((name, short(totals[group]), short(model.n_local_clusters_[group]), *cells))
    head = ["group", "rows", "clusters", *(mark(int(cluster)) for cluster in shown)]
    used = (weights > 0).sum(axis=0)
    mean = short(round(float(np.mean(model.n_local_clusters_)), 1))
    note = (
        f"{n_groups:,} groups use {k:,} clusters; a group uses {mean} of them on average, and "
        f"{int((used > 1).sum()):,} clusters are shared by several groups."
    )
    if n_groups > len(rows) or k > len(shown):
        note += f" The {len(rows)} largest groups and {len(shown)} largest clusters are shown."
    return section(
        "groups",
        "Which clusters the groups use",
        tag("p", note),
        table("Share of each cluster in the rows of a group, the largest group first", head, rows),
    )
