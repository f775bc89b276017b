"""The report of a fitted model: what one of each kind consists of, written to a file."""

import os
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hardbayes._version import __version__
from hardbayes.core.arrays import refuse_lazy
from hardbayes.core.estimator import Estimator
from hardbayes.core.html import join, tag
from hardbayes.core.loop import counted
from hardbayes.core.penalty_path import PenaltyPath
from hardbayes.paths import TRACED, penalty_path
from hardbayes.persistence.atomic import atomic_write
from hardbayes.reports.data import (
    Given,
    checked_names,
    data_of,
    estimator_and_rows,
    nameless,
    names_in,
    rows_of,
    rows_section,
)
from hardbayes.reports.features import examples_section, features_of, features_section
from hardbayes.reports.graph import communities_section, graph_of, matrix_section
from hardbayes.reports.how_sure import how_sure_section
from hardbayes.reports.levels import levels_data, levels_figure, levels_of
from hardbayes.reports.mixed_tables import (
    columns_section,
    mixed_rows_section,
    mixed_table_of,
    traits_section,
)
from hardbayes.reports.page import contents, header, labels_link, page, usage_section
from hardbayes.reports.path import script_data, solutions_section, trace_section
from hardbayes.reports.pieces import Section, short
from hardbayes.reports.plane import plane_of_rows
from hardbayes.reports.profiles import groups_section, profiles_of, profiles_section
from hardbayes.reports.solutions import Solutions, reasons_for, solutions_of
from hardbayes.reports.topics import mixed_section, topics_of, topics_section
from hardbayes.samplers.how_sure import Certainty


@dataclass
class Content:
    """What was found, facts about it, the sections, and what the script needs."""

    found: str
    sentences: list[str]
    facts: list[tuple[str, str]]
    sections: list[Section | None]
    script: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)  # columns of the file of labels


def report(
    model: Any,
    X: Any,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    values: Any = None,
    feature_names: Sequence[str] | None = None,
    row_names: Sequence[Any] | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    image_shape: tuple[int, int] | None = None,
    penalty_path: PenaltyPath[Any] | bool = True,
    certainty: Certainty | bool = True,
    overwrite: bool = False,
) -> None:
    """Write what a fitted model has found into one HTML file that needs no network.

    The file shows how many clusters there are and why, how sure that is, the rows in the plane,
    what sets clusters apart, typical and doubtful rows, how the fit went, and how to use the model.
    Where the model has a penalty path, a handle shows the clusters at other penalties. Topics are
    shown by words and documents, features by their components, graphs by their adjacency matrix.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of this library, or a pipeline that ends in one; the columns that a
        pipeline is given are those that the report describes.
    X : table, counts or graph
        What the model was fitted to, or other rows of the kind. Of a `GraphDPMeans`, the graph of
        the fit.
    path : str or path-like
        Name of the file.
    title : str or None, default=None
        A line above the headline, for example the name of the data.
    values : table of shape (n_samples, n_values) or None, default=None
        The same rows in the units that people read, where X was scaled. None: X.
    feature_names : sequence of str or None, default=None
        Names of the columns, or words of the vocabulary; None: those of X or of the fit.
    row_names : sequence or None, default=None
        Names of the rows or documents; None: the index of a pandas data frame, or numbers from 0.
    groups : array-like of shape (n_samples,) or None, default=None
        The group of each row, for `HDPMeans`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        The weights of the fit.
    image_shape : (height, width) or None, default=None
        Where rows are pictures: components are drawn as such.
    penalty_path : PenaltyPath or bool, default=True
        The path of the model's parameters, where there is one already; True traces it, which takes
        up to three times as long as a fit with an automatic penalty; False leaves it out.
    certainty : Certainty or bool, default=True
        What `hardbayes.certainty` returned for the model and X, where there is it already; True
        runs it for `DPMeans` and `GaussianDPMeans` where it takes seconds, up to some ten thousand
        rows; False leaves it out.
    overwrite : bool, default=False
        Whether an existing file is replaced.

    Raises
    ------
    FileExistsError
        If the file exists and `overwrite` is False.
    OSError
        If the file cannot be written. It is written completely or not at all.

    Notes
    -----
    At most 10,000 rows are drawn, evenly spaced, so that a file stays below two megabytes; the page
    says so. Names are escaped, and the page's content security policy allows neither other scripts
    nor anything from elsewhere.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hardbayes import DPMeans, report
    >>> from hardbayes.datasets import make_three_gaussians
    >>> X, y = make_three_gaussians(random_state=0)
    >>> model = DPMeans(random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "report.html")
    ...     report(model, X, path, title="Three Gaussians")
    ...     "<h1>3 clusters</h1>" in path.read_text(encoding="utf-8")
    True
    """
    name = os.fspath(path)
    refuse_lazy(X)
    if not isinstance(penalty_path, bool | PenaltyPath):
        raise TypeError(
            "The 'penalty_path' parameter of report must be True, False or the result of "
            f"hardbayes.penalty_path. Got {type(penalty_path).__name__} instead."
        )
    if not isinstance(certainty, bool | Certainty):
        raise TypeError(
            "The 'certainty' parameter of report must be True, False or the result of "
            f"hardbayes.certainty. Got {type(certainty).__name__} instead."
        )
    if not overwrite and os.path.lexists(name):  # before the work; the writing checks it again
        raise FileExistsError(f"{name!r} exists already; pass overwrite=True to replace it.")
    estimator, rows, own_values, own_names = estimator_and_rows(model, X)
    content_of = _kind(estimator)
    given = Given(
        estimator,
        rows,
        title=title,
        values=own_values if values is None else values,
        feature_names=own_names if feature_names is None else feature_names,
        row_names=names_in(X) if row_names is None else row_names,
        groups=groups,
        sample_weight=sample_weight,
        image_shape=image_shape,
        penalty_path=penalty_path,
        certainty=certainty,
        in_pipeline=estimator is not model,
    )
    written = _page(given, content_of(given))
    with atomic_write(name, overwrite=overwrite) as file:
        file.write(written)


def _kind(estimator: Any) -> Callable[[Given], Content]:
    """Return the function that gathers the content for such a model."""
    if not isinstance(estimator, Estimator):
        raise TypeError(
            "report takes a fitted estimator of this library, or a pipeline that ends in one. "
            f"Got {type(estimator).__name__}."
        )
    check_is_fitted(estimator)
    for attribute, kind in BY_ATTRIBUTE.items():
        if hasattr(estimator, attribute):
            return kind
    return partition


def _page(given: Given, content: Content) -> bytes:
    sections = [section for section in content.sections if section is not None]
    title = content.found if given.title is None else f"{content.found}: {given.title}"
    n_rows = len(next(iter(content.labels.values()), ()))
    download = labels_link(content.labels, n_rows)
    body = join(
        header(given.title, content.found, content.sentences, content.facts, download),
        contents(sections),
        tag("main", [section.content for section in sections], id="main"),
        tag("footer", tag("p", f"Written by hardbayes {__version__}. This file is complete: it "
                               "loads nothing, and works without a network.")),
    )  # fmt: skip
    return page(title, body, content.script)


def partition(given: Given) -> Content:
    """Return the report of clusters of rows."""
    model = given.model
    data = data_of(given)
    params = {} if given.groups is None else {"groups": given.groups}
    labels = np.asarray(model.predict(given.X, **params))
    k = int(model.n_clusters_)
    plane = plane_of_rows(model, data.rows, None if data.scaled else data.columns)

    def labels_of(other: Any) -> NDArray[np.int64]:
        if other is model:
            return labels[plane.rows].astype(np.int64)
        return np.asarray(nameless(other).predict(data.rows[plane.rows]), np.int64)

    found = _solutions(given, "n_clusters_", "cluster_penalty_", labels_of)
    profiles = profiles_of(data, labels, k)
    levels, fitted = levels_of(model, labels), counted(k, "cluster")
    rows = rows_of(nameless(model), data.rows, labels, [each.cluster for each in profiles.found])
    n, d = data.rows.shape
    return Content(
        counted(k, "cluster"),
        [f"{counted(n, 'row')} of {counted(d, 'column')} fall into {counted(k, 'cluster')}."],
        _facts(model, [("rows", short(n)), ("columns", short(d))]),
        [
            solutions_section(
                f"Why {counted(k, 'cluster')}", reasons_for(model, "cluster", found), found, plane,
                labels_of(model), "cluster", getattr(model, "penalty_choice_", None),
                levels_figure(levels, fitted),
            ),
            how_sure_section(given, data, labels),
            profiles_section(profiles, data.columns),
            groups_section(model) if hasattr(model, "group_cluster_weights_") else None,
            None if rows is None else rows_section(rows, data, profiles.telling),
            trace_section(model),
            usage_section(model, "groups" if given.groups is not None else "partition",
                          given.in_pipeline),
        ],
        script_data(found, plane, "cluster") | levels_data(levels, fitted, plane),
        {"row": _names(data.row_names, n), "cluster": labels.tolist()}
        | {f"of {name}": level.tolist() for name, level in levels.items() if name != fitted},
    )  # fmt: skip


def mixed_table(given: Given) -> Content:
    """Return the report of clusters of a table with categories."""
    model, found = given.model, mixed_table_of(given)
    k, n, d = len(found.sizes), len(found.labels), len(found.kinds)
    return Content(
        counted(k, "cluster"),
        [f"{counted(n, 'row')} of {counted(d, 'column')} fall into {counted(k, 'cluster')}."],
        _facts(model, [("rows", short(n)), ("columns", short(d))]),
        [
            solutions_section(
                f"Why {counted(k, 'cluster')}", reasons_for(model, "cluster", None), None, None,
                None, "cluster", getattr(model, "penalty_choice_", None),
            ),
            traits_section(found),
            mixed_rows_section(found),
            columns_section(found),
            trace_section(model),
            usage_section(model, "partition", given.in_pipeline),
        ],
        {},
        {"row": _names(found.row_names, n), "cluster": found.labels.tolist()},
    )  # fmt: skip


def topics(given: Given) -> Content:
    """Return the report of topics of documents."""
    model, found = given.model, topics_of(given)
    k, n = found.n_topics, found.n_documents
    what = f"{counted(n, 'document')} with a vocabulary of {counted(found.n_vocabulary, 'word')}"
    return Content(
        counted(k, "topic"),
        [f"{what} are made of {counted(k, 'topic')}."],
        _facts(model, [("documents", short(n)), ("vocabulary", short(found.n_vocabulary))]),
        [
            topics_section(found),
            mixed_section(found),
            solutions_section(
                f"Why {counted(k, 'topic')}", reasons_for(model, "topic", None), None, None, None,
                "topic",
            ),
            trace_section(model),
            usage_section(model, "topics", given.in_pipeline),
        ],
        {},
        {"document": _names(checked_names(given.row_names, n), n), "topic": found.strongest},
    )  # fmt: skip


def features(given: Given) -> Content:
    """Return the report of overlapping features."""
    model, data = given.model, data_of(given)
    shape = given.image_shape
    if shape is not None and int(np.prod(shape)) != data.rows.shape[1]:
        raise ValueError(
            f"'image_shape' is {tuple(shape)}, but X has {data.rows.shape[1]} columns."
        )
    found = features_of(nameless(model), data, shape)
    path = _solutions(given, "n_components_", "component_penalty_", None)
    k = found.n_features
    n, d = data.rows.shape
    return Content(
        counted(k, "feature"),
        [f"{counted(n, 'row')} of {counted(d, 'column')} are sums of {counted(k, 'feature')}."],
        _facts(model, [("rows", short(n)), ("columns", short(d))]),
        [
            features_section(found),
            examples_section(found),
            solutions_section(
                f"Why {counted(k, 'feature')}", reasons_for(model, "feature", path), path, None,
                None, "feature",
            ),
            trace_section(model),
            usage_section(model, "features", given.in_pipeline),
        ],
        script_data(path, None, "feature"),
        {"row": _names(data.row_names, n)}
        | {f"feature_{at}": has.tolist() for at, has in enumerate(found.membership.T)},
    )  # fmt: skip


def graph(given: Given) -> Content:
    """Return the report of clusters of a graph."""
    model = given.model
    names = checked_names(given.row_names, len(model.labels_))
    found = graph_of(model, given.X, names)

    def labels_of(other: Any) -> NDArray[np.int64]:
        return np.asarray(other.labels_, np.int64)

    path = _solutions(given, "n_clusters_", "cluster_penalty_", labels_of)
    k = found.n_clusters
    what = f"{short(found.n_vertices)} vertices with {counted(found.n_links, 'link')}"
    return Content(
        counted(k, "cluster"),
        [f"{what} fall into {counted(k, 'cluster')}."],
        _facts(model, [("vertices", short(found.n_vertices)), ("links", short(found.n_links))]),
        [
            matrix_section(found),
            communities_section(found),
            solutions_section(
                f"Why {counted(k, 'cluster')}", reasons_for(model, "cluster", path), path,
                found.plane, labels_of(model), "cluster",
            ),
            trace_section(model),
            usage_section(model, "graph", given.in_pipeline),
        ],
        script_data(path, found.plane, "cluster"),
        {"vertex": found.names, "cluster": labels_of(model).tolist()},
    )  # fmt: skip


def _names(names: list[str] | None, n: int) -> list[Any]:
    """Return what n rows are called in a file: their names, or numbers from zero on."""
    return list(range(n)) if names is None else names


#: Fitted attributes that tell what kind of model one is; any other is a partition.
BY_ATTRIBUTE: dict[str, Callable[[Given], Content]] = {
    "topic_weights_": topics,
    "membership_": features,
    "cuts_per_cluster_": graph,
    "column_kinds_": mixed_table,
}


def _solutions(
    given: Given,
    number: str,
    penalty: str,
    labels_of: Callable[[Any], NDArray[np.int64]] | None,
) -> Solutions | None:
    """Return the solutions at other penalties; None where there is no path, or it is left out.

    A path is traced with the parameters of the model, and with its seed.
    """
    path = given.penalty_path
    if path is False or (path is True and not isinstance(given.model, TRACED)):
        return None
    if not isinstance(path, PenaltyPath):
        params = {} if given.sample_weight is None else {"sample_weight": given.sample_weight}
        # The fitted model itself: what its fit has chosen need not be chosen again.
        template = copy(given.model).set_params(verbose=0)
        path = penalty_path(given.X, estimator=template, **params)
    return solutions_of(path, given.model, number, penalty, labels_of)


def _facts(model: Any, first: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return names and values for the head of a report."""
    facts = [("model", type(model).__name__), *first]
    divergence = getattr(model, "divergence", None)
    if divergence is not None:
        name = divergence if isinstance(divergence, str) else type(divergence).__name__
        facts.append(("divergence", name.replace("_", " ")))
    for name in ("cluster_penalty_", "component_penalty_", "local_penalty_", "global_penalty_"):
        if hasattr(model, name):
            facts.append((name.rstrip("_").replace("_", " "), short(getattr(model, name))))
    facts.append(("objective", short(model.objective_)))
    facts.append(("steps", f"{model.n_iter_}, " + ("converged" if model.converged_ else
                                                   "not converged")))  # fmt: skip
    return facts
