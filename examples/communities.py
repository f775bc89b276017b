"""
Communities of graphs
=====================

A karate club, and a planted partition; the number of communities is not given.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from hardbayes import GraphDPMeans
from hardbayes.datasets import load_karate_club, make_planted_partition
from hardbayes.plot import GraphDisplay

figure, axes = plt.subplots(1, 3, figsize=(15, 5), layout="constrained")

karate, factions = load_karate_club()
model = GraphDPMeans(random_state=0).fit(karate)
GraphDisplay.from_estimator(model, karate, axes=axes[:2])
print(
    f"Karate club: {model.n_clusters_} clusters at a penalty of {model.cluster_penalty_:.2f}; "
    f"{max(np.mean(model.labels_ == factions), np.mean(model.labels_ != factions)):.0%} of the "
    "members are with their faction."
)

planted, communities = make_planted_partition(8, 60, random_state=0)
model = GraphDPMeans(random_state=0).fit(planted)
GraphDisplay.from_estimator(model, planted, axes=axes[2])
agreement = adjusted_rand_score(communities, model.labels_)
print(
    f"Planted partition: {model.n_clusters_} clusters at a penalty of "
    f"{model.cluster_penalty_:.2f}; adjusted Rand index {agreement:.2f}."
)
print("Share of its links that leaves each cluster:", np.round(model.cuts_per_cluster_, 2))
figure.savefig("communities.png", dpi=80)
