import numpy as np
import pytest

from benchmarks.labelled_sets import sets_of


def test_one_set_and_many_are_read_with_all_their_partitions(tmp_path):
    one, many = tmp_path / "one.npz", tmp_path / "many.npz"
    X = np.arange(8.0).reshape(4, 2)
    np.savez(one, X=X.astype(np.int16), y=np.array(["b", "a", "a", "b"]), classes=2)
    np.savez(many, X_a=X, y_a=[0, 0, 5, 7], X_a_b=2 * X, y0_a_b=[0, 1, 1, 2], y1_a_b=[3, 3, 1, 2])
    first, second, third = sets_of([one, many])
    assert (first.name, second.name, third.name) == ("one", "a", "a_b")
    assert first.X.dtype == np.float64 and [y.tolist() for y in first.references] == [[1, 0, 0, 1]]
    assert [y.tolist() for y in second.references] == [[0, 0, 1, 2]]
    assert [y.tolist() for y in third.references] == [[-1, 1, 1, 2], [2, 2, 0, 1]]
    assert (first.numbers, second.numbers, third.numbers) == ([2], [3], [2, 3])
    np.testing.assert_array_equal(third.X, 2 * X)


def test_the_nearest_partition_counts_and_noise_does_not(tmp_path):
    file = tmp_path / "set.npz"
    np.savez(file, X=np.zeros((6, 1)), y0=[0, 1, 1, 2, 2, 2], y1=[1, 2, 3, 1, 2, 3])
    (known,) = sets_of([file])
    assert known.score(np.array([7, 4, 4, 3, 3, 3])) == 1.0
    assert known.score(np.array([0, 1, 2, 0, 1, 2])) == 1.0
    assert known.score(np.zeros(6, int)) == 0.0


def test_rows_without_labels_are_an_error(tmp_path):
    np.savez(tmp_path / "set.npz", X_a=np.zeros((6, 1)), y_b=np.zeros(6))
    with pytest.raises(ValueError, match="no labels for X_a"):
        list(sets_of([tmp_path / "set.npz"]))
