"""DP-means of rows that are read by block: what `DPMeans` does beside rows in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from hardbayes.core.arrays import Floats, Matrix, most_taken
from hardbayes.core.exact_number import told_number, unjudged
from hardbayes.core.loop import Status, counted
from hardbayes.core.pool import Pool, resolve_threads
from hardbayes.core.row_blocks import RowBlocks, rows_by_block
from hardbayes.core.validation import check_matrix, check_novelty
from hardbayes.core.validation.cells import column_names
from hardbayes.dp_means.blocks.mapping import LocalMapper, Mapper, TimedMapper, read_ahead
from hardbayes.dp_means.blocks.problem import Scanned, pose_blocks, read_rows, scan_blocks
from hardbayes.dp_means.exactly import Told, fit_told_from
from hardbayes.dp_means.fitted import fitted_attributes

if TYPE_CHECKING:
    from hardbayes.dp_means.fitted import FittedPartition

# Rows on which a penalty is chosen where all do not fit into memory at once. No path is traced on
# more than some ten thousand of them; the others say whether few are between the clusters.
CHOICE_ROWS = 1 << 18


class ByBlock:
    """What `DPMeans` does where X is read by block or by Dask."""

    _model: Any

    @cached_property
    def labels_(self) -> NDArray[np.int32]:
        """Cluster of each row, made an array when it is first read after a fit of blocks."""
        found = vars(self).get("_block_labels")
        if found is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'labels_'")
        return np.asarray(found)

    def _fit_by_block(self, X: Any, sample_weight: Any) -> tuple[dict[str, Any], Status]:
        """Return the fitted attributes and the status."""
        mapper = _mapper_of(X, sample_weight)
        fitted, status = fit_blocks(self, mapper)
        if not isinstance(mapper, LocalMapper):
            from hardbayes.core.dask_rows import lazily

            fitted.pop("_block_labels", None)
            fitted["labels_"] = lazily(X, labels_of_block, fitted["_model"], np.int32)
        return fitted, status

    def _predict_by_block(self, X: Any, novelty: bool | float, out: Any) -> NDArray[np.int32]:
        """Return the clusters of rows."""
        if isinstance(X, RowBlocks) and self._goes_by_block(X):  # type: ignore[attr-defined]
            parts = (self._labels(part, novelty) for part in self._checked_blocks(X))  # type: ignore[attr-defined]
            return _joined(parts, out)
        _refuse_out(out)
        from hardbayes.core.dask_rows import lazily

        check_is_fitted(self)
        check_novelty(novelty)
        return lazily(X, labels_of_block, self._model, np.int32, (novelty,))

    def _transform_by_block(self, X: Any, out: Any) -> Any:
        """Return the distances of rows."""
        if isinstance(X, RowBlocks) and self._goes_by_block(X):  # type: ignore[attr-defined]
            parts = (self._distances(part) for part in self._checked_blocks(X))  # type: ignore[attr-defined]
            return parts if out is None else _joined(parts, out)
        _refuse_out(out)
        from hardbayes.core.dask_rows import lazily

        check_is_fitted(self)
        return lazily(
            X, distances_of_block, self._model, self._model.dtype, (), self._model.centres.shape[0]
        )

    def _checked_blocks(self, blocks: RowBlocks) -> Iterator[Matrix]:
        """Yield the rows of each block, checked; errors name a row by its number among all."""
        check_is_fitted(self)
        first = 0
        with closing(read_ahead(blocks.blocks)) as read:
            for raw in read:
                n_rows = raw.rows.shape[0]
                if n_rows:
                    yield checked_rows(self, raw.rows, first)
                first += n_rows

    def _get_state(self) -> dict[str, Any]:
        """Return the state for a file: labels only where they are in memory."""
        state: dict[str, Any] = super()._get_state()  # type: ignore[misc]
        if not isinstance(state.get("labels_"), np.ndarray):
            state.pop("labels_", None)
        return state


def _mapper_of(X: Any, sample_weight: Any) -> Mapper:
    """Return who reads X by block."""
    blocks = rows_by_block(X, sample_weight)
    if blocks is not None:
        return LocalMapper(blocks)
    from hardbayes.core.dask_rows import DaskMapper

    return DaskMapper(X, sample_weight)


def _refuse_out(out: Any) -> None:
    if out is not None:
        raise ValueError(
            "The 'out' parameter must be None unless X is row_blocks: the result is an array. "
            "Leave it out, or write the array by numpy.save."
        )


def fit_blocks(estimator: Any, mapper: Mapper) -> tuple[dict[str, Any], Status]:
    """Return the attributes of an estimator fitted to rows in blocks, and the status of the fit."""
    geometry = estimator._geometry
    mapper = timed = TimedMapper(mapper)
    found = scan_blocks(mapper, geometry)
    facts = found.facts
    estimator._say(f"fit of {facts.n_rows} rows, {facts.n_columns} columns, in blocks")
    rng = estimator._stream()
    with Pool(resolve_threads(estimator.n_jobs), estimator._progress()) as pool:
        if facts.n_rows <= most_taken(facts.n_rows, found.entries_per_row):
            matrix, weights = read_rows(mapper, found, geometry)
            fitted, status = estimator._fitted(matrix, weights, rng, pool)
        else:
            fitted, status = _fit_large(estimator, mapper, found, rng, pool)
    for line in timed.lines():
        estimator._say(line)
    fitted["n_passes_"] = mapper.n_passes
    fitted["n_features_in_"] = facts.n_columns
    if facts.names is not None:
        fitted["feature_names_in_"] = np.array(facts.names, object)
    return fitted, status


def _fit_large(
    estimator: Any, mapper: Mapper, found: Scanned, rng: np.random.RandomState, pool: Pool
) -> tuple[dict[str, Any], Status]:
    """Fit rows where they are."""
    geometry, facts = estimator._geometry, found.facts
    prior_weight = estimator.prior_weight
    if prior_weight == "auto":
        prior_weight = geometry.default_prior_weight(facts.at_border)
    given = estimator._given_centres(facts.n_columns)
    problem, columns = pose_blocks(mapper, found, geometry, given, pool)
    penalty, init, chosen = estimator.cluster_penalty, estimator.init, None
    if given is not None:
        init = problem.centres_in_frame(columns.of(given))
    if told_number(estimator, facts.n_rows) is not None:
        sample = _choose(estimator, mapper, found, prior_weight, rng, pool)[0]
        if isinstance(init, str):
            init = problem.centres_in_frame(columns.of(sample["_model"].shown_centres()))
        wanted = Told.of(estimator, sample["prior_weight_"], init)
        fitted, status = fit_told_from(
            problem, unjudged(sample["cluster_penalty_"]), columns, facts.dtype, wanted, rng,
            estimator._report,
        )  # fmt: skip
        fitted["_block_labels"] = fitted.pop("labels_")
        return fitted, status
    if penalty == "auto":
        chosen = _choose(estimator, mapper, found, prior_weight, rng, pool)
        penalty = chosen[0]["cluster_penalty_"]
        if isinstance(init, str) and init == "mean" and estimator._search == "split-merge":
            init = problem.centres_in_frame(columns.of(chosen[0]["_model"].shown_centres()))
    penalty = float(penalty)
    problem.check_penalty(penalty)
    most, discount = estimator.max_clusters, estimator.discount
    partition = problem.partition(penalty, float(prior_weight), most, discount)
    solution = estimator._solve(problem, partition, init, rng)
    fitted = fitted_attributes(solution, problem, partition, penalty, columns, facts.dtype)
    fitted["_block_labels"] = fitted.pop("labels_")
    status = solution.status
    if chosen is not None:
        told, how = chosen
        names = ("plateau_width_", "plateau_reference_", "penalty_choice_")
        fitted |= {name: told[name] for name in names}
        n = len(told["labels_"])
        sentences = [fitted["status_"], f"The penalty was chosen on {counted(n, 'row')} of X."]
        if how is Status.REMARKED:
            sentences.append(told["status_"])
            status = how if status is Status.CONVERGED else status
        fitted["status_"] = " ".join(filter(None, sentences))
    return fitted, status


def _choose(
    estimator: Any,
    mapper: Mapper,
    found: Scanned,
    prior_weight: float,
    rng: np.random.RandomState,
    pool: Pool,
) -> tuple[dict[str, Any], Status]:
    """Return the attributes of a fit of some of the rows, which weigh as much as all."""
    n = found.facts.n_rows
    size = min(CHOICE_ROWS, most_taken(n, found.entries_per_row))
    ids = np.unique(rng.randint(n, size=size))
    estimator._say(f"choosing the penalty on {len(ids)} rows")
    matrix, weights = read_rows(mapper, found, estimator._geometry, ids)
    weights = np.ones(1) if weights is None else weights
    factor = found.total_weight / float(np.broadcast_to(weights, len(ids)).sum())
    sampled = clone(estimator).set_params(prior_weight=prior_weight)
    fitted: tuple[dict[str, Any], Status] = sampled._fitted(matrix, factor * weights, rng, pool)
    return fitted


# -- rows of a fitted model ------------------------------------------------------------------------


def checked_rows(estimator: Any, rows: Any, first: int) -> Matrix:
    """Return a block as the fitted model takes it."""
    names = column_names(rows)
    known = getattr(estimator, "feature_names_in_", None)
    if type(rows).__name__ != "NamedRows":
        return check_matrix(rows, estimator._model.geometry, estimator, False, first)
    if known is not None and list(known) != names:
        raise ValueError(
            "The feature names should match those that were passed during fit: X has "
            f"{names}, the fit had {list(known)}. Pass 'columns' to row_blocks."
        )
    if known is not None:
        _check_number(rows.shape[1], estimator.n_features_in_, type(estimator).__name__)
        return check_matrix(rows.values, estimator._model.geometry, first_row=first, names=names)
    return check_matrix(rows.values, estimator._model.geometry, estimator, False, first, names)


def _check_number(n_columns: int, expected: int, kind: str) -> None:
    if n_columns != expected:
        raise ValueError(
            f"X has {n_columns} features, but {kind} is expecting {expected} features as input."
        )


def _rows_for(model: FittedPartition, X: Any) -> Matrix:
    matrix = check_matrix(X, model.geometry)
    _check_number(matrix.shape[1], model.n_columns, "DPMeans")
    return matrix


def labels_of_block(
    X: Any, model: FittedPartition, novelty: bool | float = False
) -> NDArray[np.int32]:
    """Return the clusters of the rows of a block."""
    if not X.shape[0]:
        return np.empty(0, np.int32)
    share = check_novelty(novelty)
    with Pool(1) as pool:
        assigned = model.assign(_rows_for(model, X), pool)
        labels = assigned.labels()
        if share is not None:
            labels[assigned.outliers(share)] = -1
        elif novelty:
            labels[assigned.novel()] = -1
    return labels


def distances_of_block(X: Any, model: FittedPartition) -> Floats:
    """Return the distances of the rows of a block from all centres."""
    if not X.shape[0]:
        return np.empty((0, len(model.centres)), model.dtype)
    with Pool(1) as pool:
        distances = model.assign(_rows_for(model, X), pool).distances()
    return distances.astype(model.dtype, copy=False)


def _joined(parts: Iterator[Any], out: Any) -> Any:
    """Return what was found of all blocks as one array, or as a memory map of a file written."""
    if out is None:
        found = list(parts)
        _refuse_no_rows(len(found))
        return np.concatenate(found)
    path = Path(out)
    partial = path.with_name(f"{path.name}.partial-{uuid4().hex}")
    n_rows, width, dtype = 0, (), np.dtype(np.float64)
    try:
        with open(partial, "wb") as file:
            for part in parts:
                if not n_rows:
                    width, dtype = part.shape[1:], part.dtype
                    _write_header(file, (0, *width), dtype)
                if not np.can_cast(part.dtype, dtype):
                    raise ValueError(
                        f"The 'out' parameter must be None where results have different types. Got "
                        f"{part.dtype} from row {n_rows} on, after {dtype}: convert the blocks."
                    )
                part.astype(dtype, copy=False).tofile(file)
                n_rows += len(part)
            _refuse_no_rows(n_rows)
            file.seek(0)
            _write_header(file, (n_rows, *width), dtype)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return np.load(path, mmap_mode="r")


def _refuse_no_rows(n: int) -> None:
    if not n:
        raise ValueError("Found array with 0 sample(s): X has no rows. Pass at least one row.")


def _write_header(file: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Write the header of a .npy file; it is as long for any number of rows."""
    told = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, told)
