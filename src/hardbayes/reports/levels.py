"""Clusters at several levels: every number of clusters with evidence, from coarse to fine.

A button for each level shows its clusters in the plane, and its table: the sizes of its clusters,
and in which cluster of the level before their rows are. Without scripts all tables are there.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.html import Markup, tag
from hardbayes.core.layers import tree_of
from hardbayes.core.loop import counted
from hardbayes.reports.path import ALPHABET, encoded, plane_data
from hardbayes.reports.pieces import mark, percent, short, table
from hardbayes.reports.plane import Plane, cluster_names
from hardbayes.reports.solutions import Labels, aligned

NONE = np.empty((0, 0), np.int32)


def levels_of(model: Any, labels: NDArray[np.integer]) -> dict[str, Labels]:
    """Return the labels of the rows (n,) at each level by its name, the coarsest first.

    There are none for other rows than those of the fit, and where one number alone has evidence.
    Clusters are numbered as in the fitted model as far as they can be, so that colours stay.
    """
    own, found = labels.astype(np.int64), getattr(model, "layers_", NONE)
    if len(found) < 2 or not np.array_equal(model.labels_, own):
        return {}
    return {
        counted(int(each.max()) + 1, "cluster"): aligned(each.astype(np.int64), own)
        for each in found
    }


def levels_figure(levels: dict[str, Labels], fitted: str) -> Markup | None:
    """Return the buttons, which appear where scripts run, and a table for each level."""
    if not levels:
        return None
    buttons = [
        tag("button", name, type="button", data_level=at, aria_pressed="false")
        for at, name in enumerate(levels)
    ]
    codes = [np.unique(level, return_inverse=True) for level in levels.values()]
    tree = zip(*tree_of([own for _, own in codes]), strict=True)
    numbers = [each for each, _ in codes]
    tables = []
    for at, (name, (parents, shares)) in enumerate(zip(levels, tree, strict=True)):
        head, sizes = ["cluster", "rows", "of all"], np.bincount(codes[at][1])
        cells = [
            [mark(int(number)), short(int(size)), percent(float(size / sizes.sum()))]
            for number, size in zip(numbers[at], sizes, strict=True)
        ]
        if at:
            head += ["lies in", "share of it"]
            for row, parent, share in zip(cells, parents, shares, strict=True):
                row += [mark(int(numbers[at - 1][parent])), percent(float(share))]
        whole = table(f"Level of {name}", head, cells)
        tables.append(tag("div", whole, data_table=at))
    sentence = (
        "More than one number of clusters has evidence. The fitted model has "
        f"{fitted}; a table says of each cluster in which one of the level before most rows are."
    )
    return tag(
        "div",
        tag("h3", "Levels"),
        tag("p", sentence),
        tag("div", buttons, class_="legend", role="group", aria_label="Show a level", hidden=True),
        tables,
        id="levels",
    )


def levels_data(levels: dict[str, Labels], fitted: str, plane: Plane) -> dict[str, Any]:
    """Return what the script needs to draw each level."""
    if not levels:
        return {}
    drawn = [level[plane.rows] for level in levels.values()]
    width = 1 if max(map(np.max, drawn)) < len(ALPHABET) else 2
    told = [
        {
            "text": name,
            "labels": encoded(level, width),
            "width": width,
            "names": [each.told() for each in cluster_names(plane, level)],
        }
        for name, level in zip(levels, drawn, strict=True)
    ]
    return {"levels": told, "level": list(levels).index(fitted)} | plane_data(plane)
