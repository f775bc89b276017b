"""A process that imports a library, fits once and prints the time: see `benchmarks.cold`."""

import time

BEGIN = time.perf_counter()


def main() -> None:
    """Fit the rows of the file named first with the search or the library named second."""
    import sys

    import numpy as np

    path, library, parameter = sys.argv[1:]
    X = np.load(path)
    if library in ("paper", "split-merge"):
        from hardbayes import DPMeans

        penalty = parameter if parameter == "auto" else float(parameter)
        DPMeans(penalty, search=library, random_state=0).fit(X)
    elif library in ("GaussianDPMeans", "BPMeans"):
        import hardbayes

        getattr(hardbayes, library)(random_state=0).fit(X)
    else:
        from sklearn.cluster import KMeans

        KMeans(int(parameter), random_state=0).fit(X)
    print(time.perf_counter() - BEGIN)


if __name__ == "__main__":
    main()
