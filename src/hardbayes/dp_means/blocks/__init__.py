"""DP-means of rows that are read block by block: from files, iterators or Dask."""
