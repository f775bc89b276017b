"""Plots are drawn without a screen, and all figures are closed."""

import matplotlib as mpl
import pytest

from hardbayes import DPMeans
from hardbayes.datasets import make_three_gaussians


@pytest.fixture(autouse=True)
def headless():
    import matplotlib.pyplot as plt

    backend = mpl.get_backend()
    plt.close("all")  # Matplotlib 3.8 warns where changing the backend closes figures
    plt.switch_backend("Agg")
    yield
    plt.close("all")
    plt.close("all")
    plt.switch_backend(backend)


@pytest.fixture(scope="session")
def three_gaussians():
    return make_three_gaussians(random_state=0)[0]


@pytest.fixture(scope="session")
def model(three_gaussians):
    return DPMeans(66.0, search="paper", random_state=0).fit(three_gaussians)
