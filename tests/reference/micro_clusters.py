"""Micro-clusters of a stream of rows, literally: one row after the other, in fractions."""

from fractions import Fraction


def squared(a, b):
    """Return the squared distance of two rows."""
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


class Micro:
    """The weight, the sum and all the rows of a micro-cluster."""

    def __init__(self):
        self.rows, self.weights = [], []

    def add(self, row, weight):
        """Take up a row."""
        self.rows.append(row)
        self.weights.append(weight)

    @property
    def weight(self):
        """The weight of all rows."""
        return sum(self.weights)

    @property
    def mean(self):
        """The weighted mean."""
        pairs = [(w, row) for w, row in zip(self.weights, self.rows, strict=True)]
        return [sum(w * row[j] for w, row in pairs) / self.weight for j in range(len(pairs[0][1]))]

    @property
    def scatter(self):
        """The weighted squared distances of all rows from the mean."""
        mean = self.mean
        pairs = zip(self.weights, self.rows, strict=True)
        return sum(w * squared(row, mean) for w, row in pairs)


def take_window(micros, rows, weights, opening):
    """Give each row to the nearest centre, which stands still, or to a micro-cluster of its own.

    Those opened by earlier rows of the window count as centres. IN/OUT micros.
    """
    centres = [micro.mean for micro in micros]
    for row, weight in zip(rows, weights, strict=True):
        costs = [weight * squared(row, centre) for centre in centres]
        if not costs or min(costs) > opening:
            micros.append(Micro())
            centres.append(row)
            costs.append(Fraction(0))
        micros[costs.index(min(costs))].add(row, weight)


def shrink(micros, most):
    """Unite the pair that costs least, again and again, until so many are left. IN/OUT micros."""
    while len(micros) > most:
        _, a, b = min(
            (x.weight * y.weight / (x.weight + y.weight) * squared(x.mean, y.mean), i, j)
            for i, x in enumerate(micros)
            for j, y in enumerate(micros)
            if i < j
        )
        for row, weight in zip(micros[b].rows, micros[b].weights, strict=True):
            micros[a].add(row, weight)
        del micros[b]
