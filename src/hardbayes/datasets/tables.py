"""Small tables with classes: three that are shipped, and two that follow from a rule.

Sources and licences of the files are in ``files/NOTICE.md``.
"""

import gzip
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

_Table = tuple[NDArray[np.float64], NDArray[np.int32]]

# Classes of the car rule, and the class for each price (rows) and technical merit (columns).
_CLASSES = np.array(["acc", "good", "unacc", "vgood"])
_VERDICTS = (
    ("unacc", "unacc", "unacc", "unacc"),
    ("unacc", "unacc", "acc", "acc"),
    ("unacc", "acc", "acc", "vgood"),
    ("unacc", "acc", "good", "vgood"),
)


def load_soybean() -> _Table:
    """Diseases of soybeans: 266 plants, 35 categories as numbers, 15 diseases.

    The complete rows of the large set of Michalski and Chilausky (1980), from the UCI repository
    (CC BY 4.0).

    Returns
    -------
    X : ndarray of shape (266, 35)
        Numbers of the categories, in the order of the repository.
    y : ndarray of shape (266,), dtype int32
        The disease.

    Examples
    --------
    >>> from hardbayes.datasets import load_soybean
    >>> X, y = load_soybean()
    >>> X.shape, int(y.max()) + 1
    ((266, 35), 15)
    """
    return _shipped("soybean")


def load_breast_ljubljana() -> _Table:
    """Breast cancer, Ljubljana: 277 patients, 9 categories as numbers, 2 classes.

    The complete rows of the set of Zwitter and Soklic (1988), from the UCI repository (CC BY 4.0):
    obtained from the University Medical Centre, Institute of Oncology, Ljubljana.

    Returns
    -------
    X : ndarray of shape (277, 9)
        Numbers of the categories, ordered where they have an order.
    y : ndarray of shape (277,), dtype int32
        0: no recurrence, 1: recurrence.

    Examples
    --------
    >>> from hardbayes.datasets import load_breast_ljubljana
    >>> X, y = load_breast_ljubljana()
    >>> X.shape, int(y.max()) + 1
    ((277, 9), 2)
    """
    return _shipped("breast_ljubljana")


def load_vehicle() -> _Table:
    """Silhouettes of vehicles: 846 pictures, 18 measures of shape, 4 vehicles.

    Collected at the Turing Institute, Glasgow, by Mowforth and Shepherd (1987), from the UCI
    repository (CC BY 4.0).

    Returns
    -------
    X : ndarray of shape (846, 18)
        Whole numbers.
    y : ndarray of shape (846,), dtype int32
        0: bus, 1: Opel, 2: Saab, 3: van.

    Examples
    --------
    >>> from hardbayes.datasets import load_vehicle
    >>> X, y = load_vehicle()
    >>> X.shape, int(y.max()) + 1
    ((846, 18), 4)
    """
    return _shipped("vehicle")


def load_balance_scale() -> _Table:
    """All 625 balances with weights and distances from 1 to 5, and where each one tips.

    Made by the rule of Siegler (1976) that the UCI set states: weight times distance decides.

    Returns
    -------
    X : ndarray of shape (625, 4)
        Left weight, left distance, right weight, right distance.
    y : ndarray of shape (625,), dtype int32
        0: balanced, 1: to the left, 2: to the right.

    Examples
    --------
    >>> import numpy as np
    >>> from hardbayes.datasets import load_balance_scale
    >>> X, y = load_balance_scale()
    >>> np.bincount(y).tolist()
    [49, 288, 288]
    """
    X = _every([5, 5, 5, 5]) + 1.0
    tips = np.sign(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3])
    return X, np.select([tips == 0, tips > 0], [0, 1], 2).astype(np.int32)


def load_car_evaluation() -> _Table:
    """All 1728 cars that differ in six categories, and how acceptable each one is.

    Made by the hierarchical rules of Bohanec and Rajkovic (1988), whose answers are the UCI set.

    Returns
    -------
    X : ndarray of shape (1728, 6)
        Price and maintenance (0: very high to 3: low), doors (2, 3, 4, 5 or more), persons (2, 4,
        more), luggage (small to big) and safety (low to high), each counted from 0.
    y : ndarray of shape (1728,), dtype int32
        0: acceptable, 1: good, 2: unacceptable, 3: very good.

    Examples
    --------
    >>> import numpy as np
    >>> from hardbayes.datasets import load_car_evaluation
    >>> X, y = load_car_evaluation()
    >>> np.bincount(y).tolist()
    [384, 69, 1210, 65]
    """
    X = _every([4, 4, 4, 3, 3, 3])
    dear = 3 - X[:, :2]
    buying, upkeep = dear.T
    total = dear.sum(axis=1)
    price = np.select(
        [
            total >= 5,
            (buying >= 2) | (upkeep == 3) | ((buying == 1) & (upkeep == 2)),
            (buying == 1) & (upkeep == 1) | (buying == 0) & (upkeep == 2),
        ],
        [0, 1, 2],
        3,
    )
    doors, persons, luggage, safety = X[:, 2:].T
    crammed = (doors == 0) & (persons == 2) & (luggage == 0)
    tight = (doors == 0) | ((doors == 1) & (persons == 1))
    comfort = np.select(
        [(persons == 0) | crammed, (luggage == 0) | ((luggage == 1) & tight)], [0, 1], 2
    )
    merit = np.where((comfort == 0) | (safety == 0), 0, comfort + (safety == 2))
    verdicts = np.array(_VERDICTS)[price, merit]
    return X.astype(np.float64), np.searchsorted(_CLASSES, verdicts).astype(np.int32)


def _every(levels: list[int]) -> NDArray[np.float64]:
    """Return every combination of levels, the last one changing fastest."""
    return np.indices(levels).reshape(len(levels), -1).T.astype(np.float64)


def _shipped(name: str) -> _Table:
    packed = files(__package__).joinpath("files", f"{name}.csv.gz").read_bytes()
    lines = gzip.decompress(packed).decode("ascii").splitlines()[1:]
    whole = np.array([line.split(",") for line in lines], dtype=np.float64)
    return whole[:, :-1], whole[:, -1].astype(np.int32)
