"""Sums of kernel values between rows and clusters."""

from hardbayes.kernels.compiling import kernel


@kernel
def add_reach(values, labels, weights, reach):
    """OUT reach (m, k): weighted sums of the values (m, n) of each row over each cluster.

    labels (n,) and weights (n,) are those of the columns; reach is zero before.
    """
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            reach[i, labels[j]] += weights[j] * values[i, j]


@kernel
def add_sparse_reach(indptr, indices, data, labels, weights, reach):
    """Do the same for values in compressed sparse rows."""
    for i in range(reach.shape[0]):
        for at in range(indptr[i], indptr[i + 1]):
            j = indices[at]
            reach[i, labels[j]] += weights[j] * data[at]
