"""How many clusters with covariances there are, and the prior matrix and penalty that keep them.

The objective cannot choose its own prior, and likelihoods alone take every shape for a heap of
Gaussians. So several things decide in turn; `rule` calls the others:

- `path`: partitions into every number of clusters, by marginal likelihood (`evidence`), and the one
  that is the best for the widest range of penalties;
- `borders`: whether rows that had no part in finding clusters thin out between them. If so, `rule`
  looks for clusters between all of which rows thin out. Where both partitions are much alike the
  finer one is taken, else the coarser one;
- `references`: if not, whether rows are likelier in several clusters than clouds without clusters
  are; otherwise there is one;
- `prior`: a prior matrix and a penalty at which the objective keeps this partition. The estimator
  descends the objective on all rows from there.

All this is on a `sample`. Nothing depends on a seed of the user or on the order of the rows.
"""
