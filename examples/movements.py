"""
Movements of several people
===========================

Which exercises there are, and who does which.

Six people are recorded while they do some of eight exercises, one after the other. A window of a
recording is described by the mean and the deviation of each of six joint angles. Nothing is said
about the number of exercises, nor who does which, nor when one ends and the next begins. On the
whole the exercises overlap; a person does only some of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from hardbayes import DPMeans, HDPMeans
from hardbayes.plot import GroupsDisplay

N_JOINTS, WINDOW = 6, 30  # frames of a window
rng = np.random.default_rng(7)
names = np.array(["walk", "jog", "squat", "punch", "twist", "reach", "jump", "stretch"])
people = np.array(["Ann", "Ben", "Cem", "Dee", "Eli", "Fay"])
posture = rng.uniform(-1, 1, (len(names), N_JOINTS))
extent = rng.uniform(0.1, 1.2, (len(names), N_JOINTS))
speed = rng.uniform(0.05, 0.3, len(names))


def recording(exercise, n_windows):
    """Joint angles (frames, joints) of an exercise: swings around a posture, never quite alike."""
    time = np.arange(n_windows * WINDOW)[:, np.newaxis]
    swing = np.sin(2 * np.pi * speed[exercise] * time + rng.uniform(0, 6, N_JOINTS))
    lean = np.repeat(0.45 * rng.standard_normal((n_windows, N_JOINTS)), WINDOW, axis=0)
    force = np.repeat(rng.uniform(0.7, 1.3, n_windows), WINDOW)[:, np.newaxis]
    return posture[exercise] + lean + force * extent[exercise] * swing


X, groups, y = [], [], []
for person in people:
    for exercise in rng.choice(len(names), 4, replace=False):
        n_windows = rng.integers(20, 50)
        windows = recording(exercise, n_windows).reshape(n_windows, WINDOW, N_JOINTS)
        X.append(np.hstack([windows.mean(axis=1), windows.std(axis=1)]))
        groups += [person] * n_windows
        y += [exercise] * n_windows
X, groups, y = np.concatenate(X), np.array(groups), np.array(y)

model = HDPMeans(random_state=0).fit(X, groups=groups)
agreement = normalized_mutual_info_score(y, model.labels_)
print(f"{len(X)} windows of {len(people)} people, {len(np.unique(y))} exercises")
print(f"HDPMeans(): {model.n_clusters_} clusters, NMI with the exercises {agreement:.2f}")
flat = DPMeans(random_state=0).fit(X)
agreement = normalized_mutual_info_score(y, flat.labels_)
print(f"DPMeans(), without people: {flat.n_clusters_} clusters, NMI {agreement:.2f}")
uses = zip(model.groups_, model.n_local_clusters_, strict=True)
print("clusters of each:", ", ".join(f"{person} {number}" for person, number in uses))

figure, (left, right) = plt.subplots(
    1, 2, figsize=(13, 4.6), layout="constrained", width_ratios=(1.5, 1)
)
colors = plt.get_cmap("tab10")
# A cluster has the colour of the exercise that most of its windows are from.
meaning = np.array([np.bincount(y[model.labels_ == c]).argmax() for c in range(model.n_clusters_)])
for row, person in enumerate(people):
    own = groups == person
    at = np.arange(own.sum())
    left.bar(at, 0.38, 1.0, row - 0.4, color=colors(y[own]), align="edge")
    left.bar(at, 0.38, 1.0, row, color=colors(meaning[model.labels_[own]]), align="edge")
    for exercise in np.unique(y[own]):
        place = np.flatnonzero(y[own] == exercise).mean()
        left.text(place, row - 0.21, names[exercise], ha="center", va="center", fontsize=8)
left.set_yticks(range(len(people)), people)
left.invert_yaxis()
left.set(xlabel="window", title="above: what each person does; below: the cluster found")
GroupsDisplay.from_estimator(model, ax=right)
figure.savefig("movements.png", dpi=110)
