"""
Clusters that groups share
==========================

Neither one group alone nor all rows together show them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from hardbayes import DPMeans, HDPMeans
from hardbayes.datasets import make_shared_gaussians
from hardbayes.plot import GroupsDisplay

X, groups, y = make_shared_gaussians(random_state=0)


def agreement(labels):
    """Normalised mutual information with the truth, in the mean of the groups."""
    own = [groups == g for g in np.unique(groups)]
    return np.mean([normalized_mutual_info_score(y[g], labels[g]) for g in own])


model = HDPMeans(random_state=0).fit(X, groups=groups)
alone = np.zeros(len(X), int)
for g in np.unique(groups):
    alone[groups == g] = KMeans(5, n_init=10, random_state=0).fit_predict(X[groups == g])
print(f"HDPMeans(): {model.n_clusters_} clusters, NMI {agreement(model.labels_):.2f}")
print(f"KMeans told 5, each group alone: NMI {agreement(alone):.2f}")
print(f"KMeans told 15, all rows: NMI {agreement(KMeans(15, random_state=0).fit_predict(X)):.2f}")
flat = DPMeans(0.8, random_state=0).fit(X)
print(f"DPMeans(0.8), all rows: {flat.n_clusters_} clusters, NMI {agreement(flat.labels_):.2f}")

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(13.5, 4.2), layout="constrained", width_ratios=(1, 1, 1.3)
)
colors = plt.get_cmap("tab20")
one = groups == 7
for ax, rows, title in ((left, one, "one of 50 groups"), (middle, slice(None), "all groups")):
    ax.scatter(*X[rows].T, c=colors(model.labels_[rows] % 20), s=16 if ax is left else 5)
    ax.set(title=title, xlim=(-0.3, 1.3), ylim=(-0.3, 1.3), aspect="equal")
used = model.group_cluster_weights_[7] > 0
left.scatter(*model.cluster_centers_[used].T, marker="x", color="black")
left.scatter(*model.cluster_centers_[~used].T, marker="x", color="0.8")
middle.scatter(*model.cluster_centers_.T, marker="x", color="black")
GroupsDisplay.from_estimator(model, ax=right, max_groups=25)
figure.savefig("shared_clusters.png", dpi=110)
