"""
Directions
==========

The cosine ignores the lengths of rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from hardbayes import DPMeans, penalty_path

rng = np.random.RandomState(0)
angles = np.array([0.2, 1.1, 2.0])
kind = rng.randint(3, size=300)
angle = angles[kind] + 0.12 * rng.normal(size=300)
length = rng.gamma(1.5, size=300) + 0.05
arrows = length[:, np.newaxis] * np.column_stack([np.cos(angle), np.sin(angle)])

names = ["squared_euclidean", "cosine"]
figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
for ax, name in zip(axes, names, strict=True):
    template = DPMeans(divergence=name, random_state=0)
    penalty = penalty_path(arrows, estimator=template).for_n_clusters(3)
    model = DPMeans(penalty, divergence=name, n_init=5, random_state=0).fit(arrows)
    score = adjusted_rand_score(kind, model.labels_)
    ax.scatter(*arrows.T, c=model.labels_, s=8, cmap="tab10")
    for centre in model.cluster_centers_:
        ax.annotate("", centre, (0, 0), arrowprops={"arrowstyle": "->"})
    ax.set_aspect("equal")
    ax.set_title(f"{name}: ARI {score:.2f}", fontsize=10)
    print(f"{name:18s} ARI {score:.2f}")
figure.savefig("directions.png", dpi=110)
