"""
Waiting times
=============

Itakura-Saito compares ratios, so that short times count as much as long ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from hardbayes import DPMeans, penalty_path
from hardbayes.geometry import ItakuraSaito

rng = np.random.RandomState(1)
typical = np.array([[0.02, 5.0], [0.2, 5.0], [0.2, 50.0]])  # seconds to answer, minutes to repair
kind = rng.randint(3, size=300)
waits = typical[kind] * rng.gamma(4.0, 1 / 4.0, (300, 2))

models = {
    "squared_euclidean": "squared_euclidean",
    "itakura_saito": ItakuraSaito(shape=4.0),
}
figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
for ax, (name, divergence) in zip(axes, models.items(), strict=True):
    template = DPMeans(divergence=divergence, random_state=0)
    penalty = penalty_path(waits, estimator=template).for_n_clusters(3)
    model = DPMeans(penalty, divergence=divergence, n_init=5, random_state=0)
    labels = model.fit_predict(waits)
    score = adjusted_rand_score(kind, labels)
    ax.scatter(*waits.T, c=labels, s=8, cmap="tab10")
    ax.scatter(*model.cluster_centers_.T, c="black", marker="x")
    ax.set(xscale="log", yscale="log", xlabel="seconds to answer", ylabel="minutes to repair")
    ax.set_title(f"{name}: ARI {score:.2f}", fontsize=10)
    print(f"{name:18s} ARI {score:.2f}")
figure.savefig("waiting_times.png", dpi=110)
