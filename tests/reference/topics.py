"""Hard topics to the letter, one word after another: slow, and short enough to be right."""

from itertools import product

import numpy as np


def tokens_of(counts):
    """Return the words of each document, repeated by their counts, in the order of columns."""
    return [np.repeat(np.arange(len(row)), np.asarray(row, int)) for row in counts]


def word_shares(words, n_words):
    """Return the mean of one-hot rows."""
    return np.bincount(words, minlength=n_words) / len(words)


def divergence(word, mu):
    """Return the KL divergence of a one-hot row from word shares."""
    with np.errstate(divide="ignore"):
        return -np.log(mu[word])


def algorithm_2(counts, local_penalty, global_penalty, max_passes=100):
    """Return the topic of each word of each document, after Kulis & Jordan's Algorithm 2.

    Rows are one-hot words, groups are documents, and the divergence is KL (Jiang, Kulis & Jordan
    2012). Local clusters without words are dropped after step 4, those of one document with the
    same topic united after step 5.
    """
    documents, n_words = tokens_of(counts), len(counts[0])
    means = [word_shares(np.concatenate(documents), n_words)]
    labels = [np.zeros(len(words), int) for words in documents]
    topics = [[0] for _ in documents]  # v_jc
    before = None
    for _ in range(max_passes):
        for j, words in enumerate(documents):  # step 4
            for i, word in enumerate(words):
                costs = [
                    divergence(word, mu) + (0 if p in topics[j] else local_penalty)
                    for p, mu in enumerate(means)
                ]
                p = int(np.argmin(costs))
                if costs[p] > local_penalty + global_penalty:
                    p = len(means)
                    means.append(word_shares([word], n_words))
                if p not in topics[j]:
                    topics[j].append(p)
                labels[j][i] = topics[j].index(p)
            used = np.unique(labels[j])
            topics[j] = [topics[j][c] for c in used]
            labels[j] = np.searchsorted(used, labels[j])
        for j, words in enumerate(documents):  # step 5
            for c in range(len(topics[j])):
                own = words[labels[j] == c]
                mean = word_shares(own, n_words)
                sums = [divergence(own, mu).sum() for mu in means]
                p = int(np.argmin(sums))
                if sums[p] > global_penalty + divergence(own, mean).sum():
                    p = len(means)
                    means.append(mean)
                topics[j][c] = p
            united = list(dict.fromkeys(topics[j]))
            labels[j] = np.array([united.index(topics[j][c]) for c in labels[j]], int)
            topics[j] = united
        found = [np.array(topics[j])[labels[j]] for j in range(len(documents))]
        used = np.unique(np.concatenate(found))  # step 6
        topics = [[int(np.searchsorted(used, p)) for p in own] for own in topics]
        found = [np.searchsorted(used, own) for own in found]
        everything, where = np.concatenate(documents), np.concatenate(found)
        means = [word_shares(everything[where == p], n_words) for p in range(len(used))]
        if before is not None and all(map(np.array_equal, before, found)):
            break
        before = found
    return found


def objective(counts, topics, local_penalties, global_penalty, prior=None):
    """Return the objective of the topics of words, from the words alone.

    ``topics``: for each document the topic of each of its words, as `algorithm_2` returns them.
    """
    documents, n_words = tokens_of(counts), len(counts[0])
    prior = np.zeros(n_words) if prior is None else prior
    words, where = np.concatenate(documents), np.concatenate(topics)
    total = 0.0
    for p in np.unique(where):
        own = np.bincount(words[where == p], minlength=n_words)
        mu = (own + prior) / (own + prior).sum()
        seen = own + prior > 0
        total -= (own[seen] * np.log(mu[seen])).sum()
        if prior.any():
            m = prior / prior.sum()
            total += (prior[seen] * np.log(m[seen] / mu[seen])).sum()
        total += global_penalty
    return total + sum(
        penalty * len(np.unique(own)) for penalty, own in zip(local_penalties, topics, strict=True)
    )


def best_objective(counts, local_penalties, global_penalty, prior, most):
    """Return the lowest objective over all topics of all (document, word) pairs, up to ``most``."""
    cells = [(d, w) for d, row in enumerate(counts) for w, n in enumerate(row) if n]
    best = np.inf
    for choice in product(range(most), repeat=len(cells)):
        if any(k > max(choice[:i], default=-1) + 1 for i, k in enumerate(choice)):
            continue  # the same up to names
        topics = [
            np.repeat(
                [k for k, (e, _) in zip(choice, cells, strict=True) if e == d],
                [int(counts[d][w]) for e, w in cells if e == d],
            )
            for d in range(len(counts))
        ]
        best = min(best, objective(counts, topics, local_penalties, global_penalty, prior))
    return best
