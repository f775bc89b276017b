import pytest

from hardbayes.persistence import model


@pytest.fixture(autouse=True)
def tiny_is_registered(monkeypatch):
    monkeypatch.setitem(model.REGISTRY, "TinyModel", "tests.persistence.tiny")
