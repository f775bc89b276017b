"""What users write, for type checkers: nothing here is run, and nothing may be Any by accident."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

from hardbayes import (
    BPMeans,
    DPMeans,
    GaussianDPMeans,
    GraphDPMeans,
    HDPMeans,
    HDPTopics,
    KernelDPMeans,
    KFeatures,
    MiniBatchDPMeans,
    PenaltyPath,
    SpectralDPMeans,
    by_size,
    certainty,
    load,
    objective,
    objective_lower_bound,
    penalty_for,
    penalty_path,
    report,
    save,
)
from hardbayes.datasets import make_three_gaussians
from hardbayes.samplers import DPGaussianGibbs, IBPGibbs

Floats = NDArray[np.floating]
Labels = NDArray[np.int32]

X, y = make_three_gaussians(random_state=0)

model = assert_type(DPMeans(random_state=0).fit(X), DPMeans)
assert_type(model.n_clusters_, int)
assert_type(model.status_, str)
assert_type(model.objective_, float)
exactly = assert_type(DPMeans(n_clusters=3, random_state=0).fit(X), DPMeans)
assert_type(exactly.n_clusters, int | None)
labels: Labels = model.labels_
centres: Floats = model.cluster_centers_
history: Floats = model.objective_history_
widths: Floats = model.penalty_choice_["width"]
new: Labels = model.predict(X, novelty=0.01)
same: Labels = model.fit_predict(X)
distances: Floats = model.transform(X)
scores: Floats = model.score_samples(X)
total: float = model.score(X)
names = model.feature_names_in_.tolist()

path = assert_type(penalty_path(X), PenaltyPath[DPMeans])
assert_type(path.model(3), DPMeans)
assert_type(path.suggest(), float)
graphs = penalty_path(np.eye(3), estimator=GraphDPMeans())
assert_type(graphs.model(2).cut_, float)

save(model, "model.hb", overwrite=True)
again = assert_type(load("model.hb", DPMeans), DPMeans)
load("model.hb").predict(X)
assert_type(by_size(model), DPMeans)
assert_type(objective(X, labels, 2.0), float)
assert_type(objective_lower_bound(X, 2.0), float)
assert_type(penalty_for(X, 3), float)
report(model, X, "page.html")
sure = certainty(model, X)
shares: Floats = sure.certainty

gaussian = GaussianDPMeans().fit(X)
covariances: Floats = gaussian.covariances_
grouped = HDPMeans().fit(X, groups=y)
local: Labels = grouped.local_labels_
topics = HDPTopics().fit(np.eye(4))
words: list[list[str]] = topics.top_words(3, ["a", "b", "c", "d"])
parts: Floats = topics.fit_transform(np.eye(4))
features = BPMeans().fit(X)
membership: NDArray[np.bool_] = features.membership_
back: Floats = KFeatures(2).fit(X).inverse_transform(membership)
assert_type(KernelDPMeans().fit(X).kernel_, str)
eigenvalues: Floats = SpectralDPMeans().fit(X).eigenvalues_
stream = assert_type(MiniBatchDPMeans().partial_fit(X), MiniBatchDPMeans)
assert_type(stream.n_rows_seen_, int)
posterior: dict[int, float] = DPGaussianGibbs().fit(X).n_clusters_posterior_
counts: NDArray[np.integer] = IBPGibbs().fit(X).n_components_draws_
