"""
Moons and rings
===============

Clusters of any shape by a kernel, without a given number of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from hardbayes import KernelDPMeans, SpectralDPMeans
from hardbayes.plot import ClustersDisplay

rng = np.random.RandomState(0)
moons = make_moons(400, noise=0.06, random_state=0)
rings = make_circles(400, noise=0.05, factor=0.4, random_state=0)
angle = 2 * np.pi * np.sqrt(rng.uniform(size=900))  # rows as dense outside as inside
arm = np.repeat([0, 1, 2], 300)
turned = angle + 2 * np.pi * arm / 3
spirals = (1 + angle)[:, np.newaxis] * np.column_stack([np.cos(turned), np.sin(turned)])
spirals += 0.15 * rng.standard_normal(spirals.shape)

shapes = {"Moons": moons, "Rings": rings, "Spirals": (spirals, arm)}
figure, axes = plt.subplots(3, 3, figsize=(13, 12), layout="constrained")
for row, (shape, (X, y)) in zip(axes, shapes.items(), strict=True):
    X = StandardScaler().fit_transform(X)
    told = KMeans(len(np.unique(y)), n_init=10, random_state=0)
    models = (told, KernelDPMeans(random_state=0), SpectralDPMeans(random_state=0))
    for ax, model in zip(row, models, strict=True):
        model.fit(X)
        ClustersDisplay.from_estimator(model, X, ax=ax)
        name = "KMeans, told the number" if model is told else type(model).__name__
        found = len(np.unique(model.labels_))
        ax.set_title(f"{shape}, {name}: {found}")
        ax.set_aspect("equal")
        ax.get_legend().remove()
        agreement = adjusted_rand_score(y, model.labels_)
        print(f"{shape}: {name}: {found} clusters, adjusted Rand index {agreement:.2f}.")
figure.savefig("moons_and_rings.png", dpi=80)
