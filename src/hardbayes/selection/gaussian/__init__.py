"""How many clusters with covariances there are, and the prior matrix and penalty that keep them.

The objective cannot choose its own prior, and likelihoods alone take every shape for a heap of
Gaussians. So several things decide in turn:

- `path`: partitions into every number of clusters, by marginal likelihood;
- `borders`, `finest`: the finest of them in which all neighbouring clusters are two, because rows
  thin out between them (the dip test) or because Gaussian clusters are much likelier apart; or a
  much coarser one, which is the likeliest for a wide range of penalties;
- `held_out`: whether rows that had no part in it thin out there too; otherwise there is one;
- `prior`: a prior matrix and a penalty at which the objective keeps this partition;
- `fitting`: the descent of the objective on all rows from there.

Nothing depends on a seed of the user or on the order of the rows.
"""
