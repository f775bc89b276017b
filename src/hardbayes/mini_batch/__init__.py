"""MiniBatchDPMeans: clusters of a stream of rows, from a summary of bounded size."""
