"""Whatever entry of a model file is wrong, loading ends with a ValueError in one sentence."""

import numpy as np
import pytest
from scipy import sparse

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
    MiniBatchDPMeans,
    SpectralDPMeans,
)
from hardbayes.datasets import make_bars, make_planted_partition, make_three_gaussians

X = make_three_gaussians(60, random_state=0)[0]
BARS = make_bars(30, random_state=0)[0]
COUNTS = sparse.csr_array(sparse.hstack([BARS, sparse.csr_array((30, 3))]))
GRAPH = make_planted_partition(random_state=0)[0]

FITS = {
    "DPMeans": lambda: DPMeans(random_state=0).fit(X),
    "DPMeans, sparse": lambda: DPMeans(50.0, random_state=0).fit(COUNTS),
    "MiniBatchDPMeans": lambda: MiniBatchDPMeans(1.0, random_state=0).partial_fit(X),
    "HDPMeans": lambda: HDPMeans(1.0, 9.0, random_state=0).fit(X, groups=np.arange(60) % 3),
    "GaussianDPMeans": lambda: GaussianDPMeans(2.0).fit(X),
    "GaussianDPMeans, diag": lambda: GaussianDPMeans(2.0, covariance_type="diag").fit(X),
    "GraphDPMeans": lambda: GraphDPMeans(random_state=0).fit(GRAPH),
    "KernelDPMeans": lambda: KernelDPMeans(random_state=0).fit(X),
    "KernelDPMeans, sparse": lambda: KernelDPMeans(0.2, gamma=0.1, random_state=0).fit(COUNTS),
    "KernelDPMeans, landmarks": lambda: KernelDPMeans(n_landmarks=20, random_state=0).fit(X),
    "KernelHDPMeans": lambda: KernelHDPMeans(0.1, 3.0, n_landmarks=20, random_state=0).fit(
        X, groups=np.arange(60) % 3
    ),
    "KernelHDPMeans, matrix": lambda: KernelHDPMeans(0.1, 3.0, kernel="precomputed").fit(X @ X.T),
    "SpectralDPMeans": lambda: SpectralDPMeans(random_state=0).fit(X),
    "SpectralDPMeans, linear": lambda: SpectralDPMeans(9.0, kernel="linear").fit(X),
    "HDPTopics": lambda: HDPTopics(background=True, random_state=0).fit(COUNTS),
    "BPMeans": lambda: BPMeans(n_init=1, random_state=0).fit(X),
    "KFeatures": lambda: KFeatures(2, n_init=1, random_state=0).fit(X),
}


def damaged(value):
    """Yield values that cannot stand in the place of a value."""
    yield "wrong"
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        yield value[np.newaxis]
        yield value.astype(np.complex128)
        if value.dtype.kind == "f" and value.size:
            yield np.where(np.arange(value.size).reshape(value.shape) == 0, np.nan, value)
    elif isinstance(value, float):
        yield float("nan")
        yield np.array([value])
    elif isinstance(value, int):
        yield float("inf")


@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore:.*No number of features was confirmed")
def test_a_damaged_entry_is_refused(name):
    model = FITS[name]()
    state = model._get_state()
    again = type(model)(**model.get_params())
    again._set_state(state)
    texts = {"status_", "kernel_", "working_kernel", "working_dtype", "sentence"}
    texts |= {*model._text_attributes}
    for entry, value in state.items():
        if entry in texts:
            continue
        for wrong in damaged(value):
            with pytest.raises(ValueError, match="The saved model") as caught:
                type(model)(**model.get_params())._set_state(state | {entry: wrong})
            assert "\n" not in str(caught.value)
        if value is not None and not entry.startswith(("plateau_", "penalty_choice_")):
            without = {name: each for name, each in state.items() if name != entry}
            if entry not in MAY_MISS:
                with pytest.raises(ValueError, match="The saved model"):
                    type(model)(**model.get_params())._set_state(without)
    with pytest.raises(ValueError, match="no part of it"):
        type(model)(**model.get_params())._set_state(state | {"more": 1.0})


#: What files of version 0.1.0 do not hold, and what only some kernels have.
MAY_MISS = {
    "working_dtype", "working_spread", "working_gamma", "working_degree", "working_coef0",
    "working_anchor_weights", "working_anchor_counts", "working_origin", "has_base",
    *(f"working_{rows}_{part}" for rows in ("rows", "anchors", "landmarks")
      for part in ("bandwidths", "scales")),
}  # fmt: skip
