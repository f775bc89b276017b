"""Counts: the Poisson divergence weighs a difference by how much counts vary anyway.

Shops with three weekly rhythms. Busy days vary more than quiet ones, so squared distances see
little but the busy days.
"""

import numpy as np
from pictures import finish, side_by_side
from sklearn.metrics import adjusted_rand_score

from hardbayes import DPMeans

rng = np.random.RandomState(0)
rhythms = np.array(
    [[4, 4, 4, 4, 60, 120, 60], [9, 9, 4, 4, 60, 120, 60], [4, 4, 9, 9, 60, 120, 60]], float
)
kind = rng.randint(3, size=240)
visits = rng.poisson(rhythms[kind])

models = {
    name: DPMeans(0.0, max_clusters=3, divergence=name, n_init=5, random_state=0).fit(visits)
    for name in ("squared_euclidean", "poisson")
}
figure, axes = side_by_side(["true rhythms", *models], sharey=True)
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
finish(figure, "counts")
