"""The report of a fitted model, written to a file."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from hardbayes._version import __version__
from hardbayes.core.estimator import Estimator
from hardbayes.core.html import join, tag
from hardbayes.core.penalty_path import PenaltyPath
from hardbayes.persistence.atomic import atomic_write
from hardbayes.reports import kinds
from hardbayes.reports.data import Given, estimator_and_rows, names_in
from hardbayes.reports.page import contents, header, page


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
    penalty_path: PenaltyPath | bool = True,
    overwrite: bool = False,
) -> None:
    """Write what a fitted model has found into one HTML file that needs no network.

    The file shows how many clusters there are and why, the rows in the plane, what sets clusters
    apart, typical and doubtful rows, how the fit went, and how to use the model. Where the model
    has a penalty path, a handle shows the clusters at other penalties. Topics are shown by words
    and documents, features by their components, graphs by their adjacency matrix.

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
        one to three times as long as a fit with an automatic penalty; False leaves it out.
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
    if not isinstance(penalty_path, bool | PenaltyPath):
        raise TypeError(
            "The 'penalty_path' parameter of report must be True, False or the result of "
            f"hardbayes.penalty_path. Got {type(penalty_path).__name__} instead."
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
        in_pipeline=estimator is not model,
    )
    written = _page(given, content_of(given))
    with atomic_write(name, overwrite=overwrite) as file:
        file.write(written)


def _kind(estimator: Any) -> Callable[[Given], kinds.Content]:
    """Return the function that gathers the content for such a model."""
    if not isinstance(estimator, Estimator):
        raise TypeError(
            "report takes a fitted estimator of this library, or a pipeline that ends in one. "
            f"Got {type(estimator).__name__}."
        )
    check_is_fitted(estimator)
    for attribute, kind in kinds.BY_ATTRIBUTE.items():
        if hasattr(estimator, attribute):
            return kind
    return kinds.partition


def _page(given: Given, content: kinds.Content) -> bytes:
    sections = [section for section in content.sections if section is not None]
    title = content.found if given.title is None else f"{content.found}: {given.title}"
    body = join(
        header(given.title, content.found, content.sentences, content.facts),
        contents(sections),
        tag("main", [section.content for section in sections], id="main"),
        tag("footer", tag("p", f"Written by hardbayes {__version__}. This file is complete: it "
                               "loads nothing, and works without a network.")),
    )  # fmt: skip
    return page(title, body, content.script)
