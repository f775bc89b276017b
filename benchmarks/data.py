"""Generated data: always the same for the same arguments, nothing read from outside."""

import math

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Rows = NDArray[np.float32]


def mixture(
    n_rows: int, n_features: int, components: int, *, spread: float, decay: float, seed: int
) -> Rows:
    """Return rows of a Gaussian mixture whose components overlap.

    Column j has the scale ``(1 + j) ** -decay``, between the components and, times `spread`,
    within them. Few directions then carry most of the variance, as in measured features: isotropic
    noise in 128 dimensions would either separate the components so well that a fit stops after
    three sweeps, or drown them.
    """
    rng = np.random.default_rng(seed)
    scale = (1.0 + np.arange(n_features)) ** -decay
    centres = (rng.normal(size=(components, n_features)) * scale).astype(np.float32)
    shares = rng.dirichlet(np.full(components, 2.0))
    rows = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    rows *= (spread * scale).astype(np.float32)
    rows += centres[rng.choice(components, size=n_rows, p=shares)]
    return rows


def images(
    n_rows: int, n_features: int, components: int, *, spread: float, decay: float, seed: int
) -> Rows:
    """Return grey images, square and smooth, with pixels that crowd near black and white.

    The logits are low-frequency cosine waves whose coefficients follow `mixture`; a little noise
    is added to each pixel.
    """
    side = round(n_features**0.5)
    if side * side != n_features:
        raise ValueError(f"The 'n_features' of images must be a square. Got {n_features} instead.")
    waves = np.arange(10)
    wave = np.cos(np.pi * np.outer(waves, (np.arange(side) + 0.5) / side))
    basis = np.einsum("ui,vj->uvij", wave, wave).reshape(-1, n_features)
    # Low frequencies first, so that the decay of the coefficients makes the images smooth.
    basis = basis[np.argsort(np.hypot(*np.meshgrid(waves, waves)).ravel(), kind="stable")]
    coefficients = mixture(n_rows, len(basis), components, spread=spread, decay=decay, seed=seed)
    logits = 1.5 * (coefficients @ basis.astype(np.float32) - np.float32(1.0))
    pixels = 1.0 / (1.0 + np.exp(-logits))
    noise = np.random.default_rng(seed + 1).standard_normal(pixels.shape, dtype=np.float32)
    return pixels + np.float32(0.05) * noise


def documents(
    n_rows: int, n_words: int, topics: int, *, words_per_row: int, seed: int
) -> sp.csr_matrix:
    """Return word counts; half of a row's words come from the vocabulary of its topic."""
    rng = np.random.default_rng(seed)
    vocabularies = rng.integers(n_words, size=(topics, max(1, n_words // 50)))
    topic = rng.integers(topics, size=n_rows)
    half = words_per_row // 2
    place = rng.integers(vocabularies.shape[1], size=(n_rows, half))
    columns = np.hstack(
        [
            vocabularies[topic[:, None], place],
            rng.integers(n_words, size=(n_rows, words_per_row - half)),
        ]
    )
    counts = sp.csr_matrix(
        (
            np.ones(columns.size, dtype=np.float32),
            columns.ravel(),
            np.arange(0, columns.size + 1, words_per_row),
        ),
        shape=(n_rows, n_words),
    )
    counts.sum_duplicates()
    return counts


def histograms(n_rows: int, n_bins: int, components: int, *, seed: int) -> Rows:
    """Return rows of positive numbers that sum to one."""
    rows = mixture(n_rows, n_bins, components, spread=0.5, decay=0.3, seed=seed)
    np.exp(rows, out=rows)
    rows /= rows.sum(axis=1, keepdims=True)
    return rows


def plane(
    n_rows: int, components: int, *, gap: float, grid: bool, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return round Gaussians of deviation 1 in the plane, and from which of them each row is.

    Centres lie on a square grid or wherever there is room, at least `gap` apart; all have as many
    rows, to one.
    """
    rng = np.random.default_rng(seed)
    if grid:
        side = math.isqrt(components)
        centres = gap * np.stack(np.divmod(np.arange(components), side), axis=1)
    else:
        side_length = 1.4 * gap * components**0.5
        centres = np.empty((0, 2))
        while len(centres) < components:
            dart = side_length * rng.random((1, 2))
            if np.all(np.hypot(*(centres - dart).T) >= gap):
                centres = np.append(centres, dart, axis=0)
    member = rng.permutation(np.arange(n_rows) % components)
    return centres[member] + rng.standard_normal((n_rows, 2)), member
