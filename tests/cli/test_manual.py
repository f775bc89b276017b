"""docs/command.md shows what the command prints."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from hardbayes.cli import main
from hardbayes.core.compiling import Notice
from hardbayes.datasets import load_karate_club, make_customers
from tests.cli.conftest import write_csv

PAGE = (Path(__file__).parents[2] / "docs" / "command.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
WORDS = ("cat dog pet fur paw tail", "star moon sky sun orbit comet", "salt oil pan cook bake stir")


@pytest.fixture
def files():
    iris = load_iris()
    names = [name.removesuffix(" (cm)") for name in iris.feature_names]
    rows = [
        [*row, iris.target_names[label]] for row, label in zip(iris.data, iris.target, strict=True)
    ]
    write_csv("iris.csv", [*names, "species"], rows)
    columns, _ = make_customers(600, random_state=0)
    write_csv("customers.csv", list(columns), zip(*columns.values(), strict=True))
    write_csv("new.csv", names[::-1], [[0.2, 1.4, 3.5, 5.1], [9, 9, 9, 9]])
    rng = np.random.RandomState(0)
    texts = [" ".join(rng.choice(WORDS[i % 3].split(), 12)) for i in range(60)]
    write_csv("messages.csv", ["message"], [[text] for text in texts])
    links, _ = load_karate_club()
    edges = [(i, j) for i, j in zip(*links.nonzero(), strict=True) if i < j]
    Path("friends.txt").write_text("".join(f"member{i} member{j}\n" for i, j in edges))


def test_examples_print_what_the_page_shows(files, capsys):
    assert len(BLOCKS) >= 4
    for block in BLOCKS:
        for command, shown in re.findall(r"^\$ hardbayes (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
            assert main(shlex.split(command)) == 0
            printed = capsys.readouterr()
            said = printed.err.replace(f"{Notice.line}\n", "")  # the first fit on a machine
            assert printed.out + said == shown, command


def test_every_command_has_a_line(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    commands = re.findall(r"^    (\w+) +\w", capsys.readouterr().out, re.MULTILINE)
    assert len(commands) == 9
    for command in commands:
        assert f"`hardbayes {command}" in PAGE
