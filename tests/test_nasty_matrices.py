"""Matrices that break arithmetic, through every estimator: a fit without flaws, or one sentence.

No flaws: no NaN and no infinity in what is fitted or returned, no warning but the model's own, an
objective that never rises, and labels that `predict` gives again.
"""

import re
import traceback
import warnings

import numpy as np
import pytest

from hardbayes import (
    BPMeans,
    DPMeans,
    GaussianDPMeans,
    GraphDPMeans,
    HDPMeans,
    HDPTopics,
    KernelDPMeans,
    KernelHDPMeans,
    KFeatures,
    MixedDPMeans,
    SpectralDPMeans,
    objective_lower_bound,
)

SEED = 7


def blobs(n=24, d=3):
    """Rows of three round clusters, of size one."""
    rng = np.random.default_rng(SEED)
    return rng.integers(0, 3, (n, 1)) * 4.0 + rng.normal(size=(n, d))


def counts(n=24, d=4):
    """Small counts, zeros among them."""
    return np.random.default_rng(SEED).poisson(1.0, (n, d)).astype(float)


def with_row(value, column=0):
    """Rows of blobs, one of them with an entry of this size."""
    X = blobs()
    X[-1, column] = value
    return X


def in_float32(X):
    return X.astype(np.float32)


MATRICES = {
    "zeros": lambda: np.zeros((30, 2)),
    "many zeros": lambda: np.zeros((300, 2)),
    "ones": lambda: np.ones((30, 2)),
    "one row": lambda: np.array([[1.0, 2.0]]),
    "two rows": lambda: np.array([[1.0, 2.0], [3.0, 4.0]]),
    "two equal rows": lambda: np.full((2, 3), 0.1),
    "one cell": lambda: np.array([[3.0]]),
    "one column": lambda: blobs(d=1),
    "one column of zeros and ones": lambda: np.arange(20.0)[:, None] % 2,
    "identity": lambda: np.eye(12),
    "minus identity": lambda: -np.eye(12),
    "equal columns": lambda: np.repeat(blobs(d=1), 4, axis=1),
    "constant column": lambda: np.column_stack([blobs(), np.full(24, 1e9)]),
    "two different rows": lambda: np.repeat([[0.0, 1.0], [1.0, 0.0]], 15, axis=0),
    "copies": lambda: np.repeat(blobs(4), 8, axis=0),
    "wide": lambda: np.random.default_rng(SEED).normal(size=(5, 200)),
    "wide counts": lambda: np.random.default_rng(SEED).poisson(0.05, (8, 400)).astype(float),
    "counts": counts,
    "empty rows": lambda: np.vstack([counts(), np.zeros((4, 4))]),
    "one count": lambda: np.eye(1, 5).repeat(9, axis=0),
    "rounded": lambda: np.rint(blobs()),
    "far away": lambda: blobs() + 1e12,
    "farther": lambda: blobs() + 1e17,
    "1e-300": lambda: blobs() * 1e-300,
    "1e-200": lambda: blobs() * 1e-200,
    "1e-170": lambda: counts() * 1e-170,
    "1e-150": lambda: blobs() * 1e-150,
    "subnormal": lambda: counts() * 5e-324,
    "1e30": lambda: blobs() * 1e30,
    "1e100": lambda: np.abs(blobs()) * 1e100,
    "1e150": lambda: blobs() * 1e150,
    "1e153": lambda: blobs() * 1e153,
    "5e152 in one column": lambda: np.random.default_rng(SEED).normal(size=(24, 1)) * 5e152,
    "1e200": lambda: np.abs(blobs()) * 1e200,
    "1e307": lambda: blobs() * 1e307,
    "largest numbers": lambda: np.sign(blobs()) * np.finfo(float).max,
    "tiny column": lambda: blobs() * [1e-200, 1.0, 1.0],
    "huge column": lambda: np.abs(blobs()) * [1e200, 1.0, 1.0],
    "columns of all sizes": lambda: np.abs(blobs()) * [1e-150, 1.0, 1e150],
    "row at 1e28": lambda: with_row(1e28),
    "row at 1e30": lambda: with_row(1e30),
    "row at 1e150": lambda: with_row(1e150),
    "row at 1e300": lambda: with_row(1e300),
    "float32 at its end": lambda: in_float32(np.abs(blobs()) / blobs().max() * 3e38),
    "float32 at both ends": lambda: in_float32(np.sign(blobs()) * 3.4e38),
    "float32 near zero": lambda: in_float32(counts() * 1e-40),
    "float32 far away": lambda: in_float32(blobs() + 1e7),
}


# Warnings beside the one that says how a fit ended.
REMARKS = ("The kernel has negative eigenvalues", "1 feature explain each of 1 row", "X holds ")


def squares(X):
    """A symmetric matrix of about the size of X."""
    n = max(X.shape)
    square = np.zeros((n, n), X.dtype)
    square[: X.shape[0], : X.shape[1]] = X
    return np.maximum(square, square.T)


def graph(X):
    return np.abs(squares(X))


def as_given(X):
    return X


def absolute(X):
    return np.abs(X)


def in_groups(X):
    return {"groups": np.arange(len(X)) % 3}


def fixed(estimator):
    return estimator.set_params(random_state=0, n_jobs=1)


ESTIMATORS = {
    "DPMeans": (lambda: DPMeans(), as_given),
    "DPMeans, a penalty": (lambda: DPMeans(3.0), as_given),
    "DPMeans, paper": (lambda: DPMeans(search="paper"), as_given),
    "DPMeans, collapsed": (lambda: DPMeans(3.0, method="collapsed"), as_given),
    "DPMeans, poisson": (lambda: DPMeans(divergence="poisson"), absolute),
    "DPMeans, kl": (lambda: DPMeans(divergence="kl"), absolute),
    "DPMeans, itakura_saito": (lambda: DPMeans(divergence="itakura_saito"), absolute),
    "DPMeans, logistic": (lambda: DPMeans(divergence="logistic"), as_given),
    "DPMeans, cosine": (lambda: DPMeans(divergence="cosine"), as_given),
    "GaussianDPMeans": (lambda: GaussianDPMeans(), as_given),
    "GaussianDPMeans, diag": (lambda: GaussianDPMeans(covariance_type="diag"), as_given),
    "GaussianDPMeans, a cap": (lambda: GaussianDPMeans(0, max_clusters=3), as_given),
    "KernelDPMeans": (lambda: KernelDPMeans(), as_given),
    "KernelDPMeans, linear": (lambda: KernelDPMeans(kernel="linear"), as_given),
    "KernelDPMeans, gamma": (lambda: KernelDPMeans(gamma=1e-12), as_given),
    "KernelDPMeans, poly": (lambda: KernelDPMeans(kernel="poly"), as_given),
    "KernelDPMeans, matrix": (lambda: KernelDPMeans(kernel="precomputed"), squares),
    "KernelDPMeans, landmarks": (lambda: KernelDPMeans(n_landmarks=8), as_given),
    "SpectralDPMeans": (lambda: SpectralDPMeans(), as_given),
    "SpectralDPMeans, linear": (lambda: SpectralDPMeans(kernel="linear"), as_given),
    "SpectralDPMeans, matrix": (lambda: SpectralDPMeans(kernel="precomputed"), squares),
    "BPMeans": (lambda: BPMeans(), as_given),
    "KFeatures": (lambda: KFeatures(2), as_given),
    "HDPMeans": (lambda: HDPMeans(), as_given),
    "KernelHDPMeans": (lambda: KernelHDPMeans(), as_given),
    "HDPTopics": (lambda: HDPTopics(), absolute),
    "GraphDPMeans": (lambda: GraphDPMeans(), graph),
    "MixedDPMeans": (lambda: MixedDPMeans(), as_given),
    "MixedDPMeans, five": (lambda: MixedDPMeans(n_clusters=5), as_given),
    "DPMeans, five": (lambda: DPMeans(n_clusters=5), as_given),
    "GaussianDPMeans, five": (lambda: GaussianDPMeans(n_clusters=5), as_given),
    "KernelDPMeans, five": (lambda: KernelDPMeans(n_clusters=5), as_given),
    "SpectralDPMeans, five": (lambda: SpectralDPMeans(n_clusters=5), as_given),
    "HDPMeans, five": (lambda: HDPMeans(n_clusters=5), as_given),
}


def found_numbers(name, value):
    """Yield the arrays of numbers in an attribute, with names."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from found_numbers(f"{name}[{key!r}]", part)
    elif isinstance(value, list | tuple):
        for place, part in enumerate(value):
            yield from found_numbers(f"{name}[{place}]", part)
    elif isinstance(value, float | np.number) or getattr(value, "dtype", np.dtype("O")).kind == "f":
        yield name, np.asarray(value)


def public_attributes(model):
    names = {name for name in vars(model) if name.endswith("_") and name[0] != "_"}
    for kind in type(model).__mro__:
        names |= {
            n
            for n, v in vars(kind).items()
            if n.endswith("_") and n[0] != "_" and isinstance(v, property)
        }
    return sorted(names)


def flaws_of(model, X, fit_params):
    for name in public_attributes(model):
        for part, numbers in found_numbers(name, getattr(model, name, None)):
            if not np.isfinite(numbers).all():
                yield f"{part} is not finite"
    history = getattr(model, "objective_history_", np.zeros(1))
    if (np.diff(history) > 0).any():
        yield f"the objective rises: {history}"
    if isinstance(model, GraphDPMeans):
        return
    for method in ("transform", "score_samples"):
        if hasattr(model, method):
            found = getattr(model, method)(X)
            if not np.isfinite(found).all():
                yield f"{method} is not finite"
    if hasattr(model, "predict") and hasattr(model, "labels_"):
        params = fit_params if isinstance(model, HDPMeans) else {}
        if not np.array_equal(model.predict(X, **params), model.labels_):
            yield f"predict {model.predict(X, **params)} differs from labels_ {model.labels_}"


def findings(estimator, matrix):
    """Yield what is wrong about the fit of an estimator to a matrix, in words."""
    make, prepare = ESTIMATORS[estimator]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with np.errstate(all="warn", under="ignore"):
            X = prepare(MATRICES[matrix]())
            model = fixed(make())
            params = in_groups(X) if isinstance(model, HDPMeans) else {}
            try:
                model.fit(X, **params)
                yield from flaws_of(model, X, params)
            except Exception as error:
                last = traceback.extract_tb(error.__traceback__)[-1].filename
                sentence = str(error)
                if not isinstance(error, ValueError) or "/hardbayes/" not in last:
                    where = traceback.extract_tb(error.__traceback__)[-4:]
                    yield f"{type(error).__name__}: {sentence[:200]} in {where}"
                elif not re.fullmatch(r"[A-Z'][^\n]+\.", sentence):
                    yield f"no sentence: {sentence}"
    status = getattr(model, "status_", "")
    for warning in caught:
        said = str(warning.message)
        if said != status and not said.startswith(REMARKS):
            yield f"{warning.category.__name__}: {said} ({warning.filename}:{warning.lineno})"


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_fit_without_flaws_or_one_sentence(estimator):
    found = {matrix: dict.fromkeys(findings(estimator, matrix)) for matrix in MATRICES}
    assert {matrix: flaws for matrix, flaws in found.items() if flaws} == {}


@pytest.mark.parametrize("matrix", MATRICES)
def test_a_lower_bound_is_a_number_or_one_sentence(matrix):
    X = MATRICES[matrix]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            said = f"The bound is {objective_lower_bound(X, 1.0)}."
        except ValueError as error:
            said = str(error)
    assert re.fullmatch(r"[A-Z'][^\n]+\.", said)
    assert not re.search("nan|inf", said)
