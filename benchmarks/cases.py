"""The shapes of whole fits, with the generator of their rows and their targets."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from hardbayes import penalty_for

from benchmarks.data import Rows, images, mixture
from benchmarks.report import Target

# The farthest-first rule reads the rows once for each cluster: this many are enough to set a penalty.
ROWS_FOR_PENALTY = 20_000


@dataclass(frozen=True)
class Case:
    """A data set and the number of clusters asked of the farthest-first rule.

    `wished` stands above the number of clusters that a fit finds: it was tried out until that number came near the
    shape's. The number found is printed.
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

    @property
    def shape(self) -> str:
        """The shape as people write it."""
        return f"{self.n_rows:,} x {self.n_features}"

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
    Case(60_000, 128, 150, 0.57, 0.52, 140, Target(2), Target(5, 10)),
    Case(40_000, 128, 700, 0.50, 0.50, 620, Target(3, 5), Target(5, 10)),
    Case(150_000, 16, 100, 0.40, 0.50, 95, Target(2, 4), Target(2, 4)),
    Case(150_000, 2, 60, 0.15, 0.00, 36, Target(1, 2), Target(2, 4)),
    Case(8_000, 784, 50, 0.70, 0.60, 41, Target(1.3), Target(2, 4), generator=images),
    Case(312_320, 128, 250, 0.55, 0.50, 210, Target(2), Target(5, 10), most_repeats=3),
]
