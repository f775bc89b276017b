"""Small tables with classes: shapes, sizes of classes, and the rules of those that are made."""

from importlib.resources import files

import numpy as np
import pytest

from hardbayes import datasets


@pytest.mark.parametrize(
    ("name", "shape", "sizes", "highest"),
    [
        ("soybean", (266, 35), [40, 20, 10, 10, 40, 20, 10, 10, 10, 40, 10, 16, 10, 10, 10], 6),
        ("breast_ljubljana", (277, 9), [196, 81], 10),
        ("vehicle", (846, 18), [218, 212, 217, 199], 1018),
    ],
)
def test_shipped(name, shape, sizes, highest):
    X, y = getattr(datasets, f"load_{name}")()
    assert X.shape == shape and X.dtype == np.float64 and y.dtype == np.int32
    assert np.bincount(y).tolist() == sizes
    assert X.min() == 0 and X.max() == highest and (np.round(X) == X).all()


def test_every_file_has_its_notice():
    folder = files(datasets).joinpath("files")
    notice = folder.joinpath("NOTICE.md").read_text(encoding="utf-8")
    shipped = [file.name for file in folder.iterdir() if file.name.endswith(".gz")]
    assert len(shipped) == 3 and all(f"`{name}`" in notice for name in shipped)


def test_balance_tips_where_the_product_is_greater():
    X, y = datasets.load_balance_scale()
    assert len(np.unique(X, axis=0)) == 625 and X.min() == 1 and X.max() == 5
    for row, label in zip(X, y, strict=True):
        left, right = row[0] * row[1], row[2] * row[3]
        assert label == (0 if left == right else 1 if left > right else 2)


def test_cars():
    X, y = datasets.load_car_evaluation()
    assert len(np.unique(X, axis=0)) == 1728
    assert np.bincount(y).tolist() == [384, 69, 1210, 65]  # as the repository counts them
    two_persons_or_unsafe = (X[:, 3] == 0) | (X[:, 5] == 0)
    assert (y[two_persons_or_unsafe] == 2).all()
    # Cheaper, safer or larger is never worse; more persons in a small car may be.
    rank = np.array([1, 2, 0, 3])[y].reshape(4, 4, 4, 3, 3, 3)
    assert all((np.diff(rank, axis=axis) >= 0).all() for axis in (0, 1, 2, 4, 5))
