"""
Counts
======

The Poisson divergence takes into account that large counts vary more.

Shops with three weekly rhythms. Busy days vary more than quiet ones, so squared distances are
dominated by the busy days.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from hardbayes import DPMeans, penalty_path

rng = np.random.RandomState(0)
rhythms = np.array(
    [[4, 4, 4, 4, 60, 120, 60], [9, 9, 4, 4, 60, 120, 60], [4, 4, 9, 9, 60, 120, 60]], float
)
kind = rng.randint(3, size=240)
visits = rng.poisson(rhythms[kind])

models = {}
for name in ("squared_euclidean", "poisson"):
    template = DPMeans(divergence=name, random_state=0)
    penalty = penalty_path(visits, estimator=template).for_n_clusters(3)
    models[name] = DPMeans(penalty, divergence=name, n_init=5, random_state=0).fit(visits)

figure, axes = plt.subplots(1, 3, figsize=(9.0, 3.6), sharey=True, layout="constrained")
axes[0].set_title("true rhythms", fontsize=10)
for rhythm in rhythms:
    axes[0].plot(rhythm, marker="o")
for ax, (name, model) in zip(axes[1:], models.items(), strict=True):
    ax.plot(model.cluster_centers_.T, marker="o")
    score = adjusted_rand_score(kind, model.labels_)
    ax.set_title(f"{name}: ARI {score:.2f}", fontsize=10)
    print(f"{name:18s} {model.n_clusters_} clusters, ARI {score:.2f}")
axes[0].set_yscale("log")
axes[0].set_ylabel("visits")
for ax in axes:
    ax.set_xlabel("day")
figure.savefig("counts.png", dpi=110)
