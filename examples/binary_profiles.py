"""
Binary profiles
===============

The logistic divergence is made for yes-no answers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from hardbayes import DPMeans, penalty_path

rng = np.random.RandomState(0)
# Four groups of people: eight questions that all groups answer alike, and four for each group
# that separate it.
yes = np.full((4, 24), 0.3)
yes[:, :8] = 0.05
for number in range(4):
    yes[number, 8 + 4 * number : 12 + 4 * number] = [0.98, 0.98, 0.02, 0.02]
kind = rng.randint(4, size=300)
answers = (rng.random_sample((300, 24)) < yes[kind]).astype(float)

template = DPMeans(divergence="logistic", random_state=0)
penalty = penalty_path(answers, estimator=template).for_n_clusters(4)
model = DPMeans(penalty, divergence="logistic", n_init=5, random_state=0).fit(answers)
score = adjusted_rand_score(kind, model.labels_)
print(f"{model.n_clusters_} clusters, prior weight {model.prior_weight_:g}, ARI {score:.2f}")

order = np.argsort(model.labels_, kind="stable")
figure, axes = plt.subplots(1, 3, figsize=(9.0, 3.6), layout="constrained")
titles = ["answers as given", f"sorted by cluster: ARI {score:.2f}", "centres"]
for ax, title in zip(axes, titles, strict=True):
    ax.set_title(title, fontsize=10)
axes[0].imshow(answers, aspect="auto", cmap="Greys")
axes[1].imshow(answers[order], aspect="auto", cmap="Greys")
axes[2].imshow(model.cluster_centers_, aspect="auto", cmap="Greys", vmin=0, vmax=1)
axes[2].set_yticks(range(model.n_clusters_))
for ax in axes:
    ax.set_xlabel("question")
figure.savefig("binary_profiles.png", dpi=110)
