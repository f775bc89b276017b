import pytest

from hardbayes.persistence import model
from tests.persistence.tiny import TinyModel


@pytest.fixture(autouse=True)
def tiny_is_registered(monkeypatch):
    monkeypatch.setitem(model.REGISTRY, "TinyModel", TinyModel)
