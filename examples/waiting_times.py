"""Waiting times: Itakura-Saito compares ratios, so that fast things count as much as slow ones."""

import numpy as np
from pictures import finish, side_by_side
from sklearn.metrics import adjusted_rand_score

from hardbayes import DPMeans
from hardbayes.geometry import ItakuraSaito

rng = np.random.RandomState(1)
typical = np.array([[0.02, 5.0], [0.2, 5.0], [0.2, 50.0]])  # seconds to answer, minutes to repair
kind = rng.randint(3, size=300)
waits = typical[kind] * rng.gamma(4.0, 1 / 4.0, (300, 2))

models = {
    "squared_euclidean": "squared_euclidean",
    "itakura_saito": ItakuraSaito(shape=4.0),
}
figure, axes = side_by_side(list(models))
for ax, (name, divergence) in zip(axes, models.items(), strict=True):
    model = DPMeans(0.0, max_clusters=3, divergence=divergence, n_init=5, random_state=0)
    labels = model.fit_predict(waits)
    score = adjusted_rand_score(kind, labels)
    ax.scatter(*waits.T, c=labels, s=8, cmap="tab10")
    ax.scatter(*model.cluster_centers_.T, c="black", marker="x")
    ax.set(xscale="log", yscale="log", xlabel="seconds to answer", ylabel="minutes to repair")
    ax.set_title(f"{name}: ARI {score:.2f}", fontsize=10)
    print(f"{name:18s} ARI {score:.2f}")
finish(figure, "waiting_times")
