"""
Topics of generated abstracts
=============================

How many there are is found, not given.

Each abstract mixes one or two of eight subjects with words that all abstracts use. The picture
needs matplotlib; the printed results do not.
"""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from hardbayes import HDPTopics

SUBJECTS = [
    "galaxy telescope redshift star dust luminosity spectrum halo orbit planet supernova cosmic",
    "protein gene cell mutation enzyme genome expression receptor tissue membrane dna sequence",
    "neuron cortex synapse spike stimulus memory visual firing dendrite plasticity brain",
    "market price inflation wage trade tax investor bank demand labour policy bond",
    "theorem proof manifold algebra lemma prime topology group conjecture ring metric bundle",
    "climate ocean carbon rainfall glacier temperature emission drought aerosol wind ice sea",
    "network classifier training kernel gradient image label regression layer loss dataset",
    "patient trial dose treatment cancer clinical placebo symptom therapy surgery risk cohort",
]
COMMON = "paper result show new method study data model large effect propose present using"

rng = np.random.default_rng(0)
texts, truth = [], []
for _ in range(800):
    own = rng.choice(len(SUBJECTS), rng.integers(1, 3), replace=False)
    words = []
    for subject in own:
        vocabulary = SUBJECTS[subject].split()
        popularity = 1 / np.arange(1, len(vocabulary) + 1) ** 0.5
        words += list(rng.choice(vocabulary, 60 // len(own), p=popularity / popularity.sum()))
    words += list(rng.choice(COMMON.split(), 40))
    texts.append(" ".join(words))
    truth.append(set(own))

vectorizer = CountVectorizer()
X = vectorizer.fit_transform(texts)
model = HDPTopics(random_state=0).fit(X)
print(f"{model.n_topics_} topics of {len(SUBJECTS)} subjects in {len(texts)} abstracts")
for words in model.top_words(6, vectorizer.get_feature_names_out()):
    print("  " + " ".join(words))
used = (model.transform(X) > 0.1).sum(axis=1)
right = np.mean(used == [len(own) for own in truth])
print(f"{right:.0%} of abstracts have as many topics as subjects")

try:
    from hardbayes.plot import TopicsDisplay

    display = TopicsDisplay.from_estimator(model, vectorizer.get_feature_names_out())
except ImportError as error:
    print(error)
else:
    display.figure_.savefig("topics.png", dpi=100)
