import pytest

from hardbayes.pool import Pool


@pytest.fixture
def pool():
    with Pool(2) as pool:
        yield pool
