"""Distances between drawn partitions, how often rows share a cluster, and rows that agree.

Labels are numbers from 0 on. The variation of information of two partitions is the entropy that
either has given the other (Meila 2007), here in nats.
"""

from hardbayes.core.compiling import inlined, kernel


@kernel
def variations(partitions, others, table, sizes, logs, out):
    """OUT out (p, q): the variation of information of each pair.

    IN partitions (p, n), others (q, n) int32; logs (n + 1,): of whole numbers, 0 at 0. Scratch:
    table (K, K) int64 of zeros, sizes (2, K) int64 of zeros, K more than any label.
    """
    for a in range(partitions.shape[0]):
        for b in range(others.shape[0]):
            out[a, b] = variation(partitions, a, others, b, table, sizes, logs)


@inlined
def variation(partitions, a, others, b, table, sizes, logs):
    """Return the variation of information of two partitions; scratch is zero before and after."""
    n = partitions.shape[1]
    for i in range(n):
        table[partitions[a, i], others[b, i]] += 1
        sizes[0, partitions[a, i]] += 1
        sizes[1, others[b, i]] += 1
    total = 0.0
    for i in range(n):
        one, other = partitions[a, i], others[b, i]
        total += logs[sizes[0, one]] + logs[sizes[1, other]] - 2.0 * logs[table[one, other]]
    for i in range(n):
        one, other = partitions[a, i], others[b, i]
        sizes[0, one] = 0
        sizes[1, other] = 0
        table[one, other] = 0
    return max(0.0, total / n)


@kernel
def shared_clusters(draws, rows, out):
    """Add to out (r, r) int64 how many of the draws (s, n) put two of the rows (r,) together."""
    for s in range(draws.shape[0]):
        for a in range(len(rows)):
            for b in range(a + 1):
                if draws[s, rows[a]] == draws[s, rows[b]]:
                    out[a, b] += 1


@kernel
def agreeing_rows(draws, labels, table, taken, pairs, out):
    """Add to out (n,) int64 in how many draws each row is in the cluster that matches its own.

    Clusters of ``labels`` (n,) int32 and of a draw are matched one to one: those that share most
    rows first, as long as any pair shares rows. Scratch: table (K, K) int64 of zeros, taken (2, K),
    pairs (2, n): the pairs that share rows, few of all where there are many clusters.
    """
    n, k = len(labels), table.shape[0]
    for s in range(draws.shape[0]):
        n_pairs = 0
        for i in range(n):
            own, other = labels[i], draws[s, i]
            if table[own, other] == 0:
                pairs[0, n_pairs], pairs[1, n_pairs] = own, other
                n_pairs += 1
            table[own, other] += 1
        for c in range(k):
            taken[0, c] = -1
            taken[1, c] = -1
        while n_pairs > 0:
            most, best_own, best_other, n_left = 0, 0, 0, 0
            for p in range(n_pairs):
                own, other = pairs[0, p], pairs[1, p]
                if taken[0, own] < 0 and taken[1, other] < 0:
                    pairs[0, n_left], pairs[1, n_left] = own, other
                    n_left += 1
                    count = table[own, other]
                    is_first = own < best_own or (own == best_own and other < best_other)
                    if count > most or (count == most and is_first):
                        most, best_own, best_other = count, own, other
            n_pairs = n_left
            if most > 0:
                taken[0, best_own] = best_other
                taken[1, best_other] = best_own
        for i in range(n):
            table[labels[i], draws[s, i]] = 0
            if taken[0, labels[i]] == draws[s, i]:
                out[i] += 1
