"""The shapes of whole fits, with the generator of their rows and their targets."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from benchmarks.data import Rows, images, mixture
from benchmarks.report import Target
from hardbayes import penalty_for

# The farthest-first rule reads the rows once for each cluster: these are enough for a penalty.
ROWS_FOR_PENALTY = 20_000
MAX_SWEEPS = 300


@dataclass(frozen=True)
class Case:
    """A data set and the number of clusters asked of the farthest-first rule.

    `wished` was tried out until fits to the generated rows found about as many clusters as the
    shape is meant to have. The number found is printed. A `noisy` case starts at so many rows drawn
    at random instead: births on noise make one giant cluster and many of one row.
    """

    n_rows: int
    n_features: int
    components: int
    spread: float
    decay: float
    wished: int
    like_for_like: Target
    as_called: Target
    seed: int = 0
    generator: Callable[..., Rows] = mixture
    most_repeats: int = 5
    max_sweeps: int = MAX_SWEEPS
    noisy: bool = False

    @property
    def shape(self) -> str:
        """The shape as people write it."""
        return f"{self.n_rows:,} x {self.n_features}{', mostly noise' if self.noisy else ''}"

    def rows(self) -> Rows:
        """Return the data, float32."""
        return self.generator(
            self.n_rows,
            self.n_features,
            self.components,
            spread=self.spread,
            decay=self.decay,
            seed=self.seed,
        )

    def penalty(self, X: Rows) -> float:
        """Return the penalty of every contestant on these rows."""
        return penalty_for(X[:ROWS_FOR_PENALTY], self.wished)

    def tiny(self) -> "Case":
        """Return the case at the size of a smoke test."""
        return replace(
            self,
            n_rows=max(1_000, self.n_rows // 40),
            components=max(4, self.components // 8),
            wished=max(4, self.wished // 8),
        )


CASES = [
    Case(
        n_rows=60_000,
        n_features=128,
        components=150,
        spread=0.57,
        decay=0.52,
        wished=107,
        like_for_like=Target(reach=2),
        as_called=Target(reach=5, moonshot=10),
    ),
    Case(
        n_rows=40_000,
        n_features=128,
        components=700,
        spread=0.50,
        decay=0.50,
        wished=545,
        like_for_like=Target(reach=3, moonshot=5),
        as_called=Target(reach=5, moonshot=10),
    ),
    Case(
        n_rows=150_000,
        n_features=16,
        components=100,
        spread=0.40,
        decay=0.50,
        wished=70,
        like_for_like=Target(reach=2, moonshot=4),
        as_called=Target(reach=2, moonshot=4),
    ),
    Case(
        n_rows=150_000,
        n_features=2,
        components=60,
        spread=0.10,
        decay=0.00,
        wished=41,
        like_for_like=Target(reach=1, moonshot=2),
        as_called=Target(reach=2, moonshot=4),
    ),
    Case(
        n_rows=8_000,
        n_features=784,
        components=50,
        spread=0.65,
        decay=0.60,
        wished=46,
        generator=images,
        like_for_like=Target(reach=1.3),
        as_called=Target(reach=2, moonshot=4),
    ),
    Case(
        n_rows=312_320,
        n_features=128,
        components=250,
        spread=0.55,
        decay=0.50,
        wished=140,
        like_for_like=Target(reach=2),
        as_called=Target(reach=5, moonshot=10),
        most_repeats=3,
    ),
]


def _noise(n_rows: int, n_features: int, k: int) -> Case:
    """Return a case without structure for bounds to use.

    In every direction the noise has twice the deviation of the component means: rows lie farther
    from their own mean than the means lie from each other.
    """
    return Case(
        n_rows=n_rows,
        n_features=n_features,
        components=k,
        spread=2.0,
        decay=0.0,
        wished=k,
        like_for_like=Target(reach=1),
        as_called=Target(),
        most_repeats=2,
        max_sweeps=100,
        noisy=True,
    )


#: The shapes of `CASES` on data that is mostly noise.
NOISE = [
    _noise(60_000, 128, 120),
    _noise(40_000, 128, 580),
    _noise(150_000, 16, 75),
    _noise(150_000, 2, 40),
    _noise(8_000, 784, 40),
]
