"""
A divergence of your own
========================

The generalised I-divergence of counts, that of the Poisson.

A geometry is a convex function of one number and its derivative, elementwise, in plain NumPy.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import xlogy

from hardbayes import DPMeans, penalty_path
from hardbayes.geometry import Geometry


class Counts(Geometry):
    """``D(x, c) = sum_j x_j log(x_j / c_j) - x_j + c_j`` for counts that are not normalised."""

    domain = "numbers >= 0"

    def generator(self, x):
        return xlogy(x, x) - x

    def gradient(self, c):
        return np.log(np.maximum(c, 1e-300))

    def outside(self, values):
        return values < 0


rng = np.random.RandomState(0)
rates = np.array([[5.0, 50.0, 20.0], [40.0, 10.0, 20.0], [80.0, 80.0, 5.0]])
truth = rng.randint(3, size=300)
counts = rng.poisson(rates[truth]) + 1.0

template = DPMeans(divergence=Counts(), random_state=0)
penalty = penalty_path(counts, estimator=template).for_n_clusters(3)
model = DPMeans(penalty, divergence=Counts(), random_state=0).fit(counts)
print(f"penalty {penalty:.1f}: {model.n_clusters_} clusters at")
print(np.round(model.cluster_centers_, 1))

figure, ax = plt.subplots(figsize=(7.0, 3.6), layout="constrained")
ax.scatter(counts[:, 0], counts[:, 1], c=model.labels_, s=12, cmap="tab10")
ax.scatter(*model.cluster_centers_[:, :2].T, c="black", marker="x")
ax.set(xlabel="first count", ylabel="second count")
figure.savefig("own_divergence.png", dpi=110)
