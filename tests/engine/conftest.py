import pytest

from hardbayes.executors.pool import Pool


@pytest.fixture
def pool():
    with Pool(2) as pool:
        yield pool
