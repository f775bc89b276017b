"""
Word histograms
===============

Kullback-Leibler compares shares of words, with a prior for unseen words.

The published algorithm, drawn for comparison, fails here: a cluster opened at one document is
infinitely far from every document with another word.
"""

import matplotlib.pyplot as plt
from sklearn.metrics import normalized_mutual_info_score

from hardbayes import DPMeans, penalty_for, penalty_path
from hardbayes.datasets import make_word_histograms

counts, subjects = make_word_histograms(sparse=True, random_state=0)
k = len(set(subjects))
published = DPMeans(
    penalty_for(counts, k, divergence="kl"),
    divergence="kl",
    prior_weight=0.0,
    search="paper",
    random_state=0,
)


def about_k(divergence):
    """The default search, at a penalty for k clusters."""
    template = DPMeans(divergence=divergence, random_state=0)
    penalty = penalty_path(counts, estimator=template).for_n_clusters(k)
    return DPMeans(penalty, divergence=divergence, random_state=0)


models = {
    "squared Euclidean": about_k("squared_euclidean"),
    "KL as published": published,
    "KL, prior of 10 rows": about_k("kl"),
}
figure, axes = plt.subplots(1, 3, figsize=(10.0, 3.6), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(counts)
    score = normalized_mutual_info_score(subjects, model.labels_)
    sizes = sorted(model.cluster_weights_, reverse=True)
    ax.bar(range(len(sizes)), sizes, color="tab:blue")
    ax.set_title(f"{name}: NMI {score:.2f}", fontsize=10)
    ax.set_xlabel("cluster, largest first")
    print(f"{name:22s} {model.n_clusters_} clusters, NMI {score:.2f}")
axes[0].set_ylabel("documents")
figure.savefig("word_histograms.png", dpi=110)
