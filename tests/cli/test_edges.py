import pytest

from hardbayes.cli.graph import read_edges
from hardbayes.cli.terminal import CommandError


def read(tmp_path, text):
    path = tmp_path / "edges.txt"
    path.write_text(text)
    return read_edges(str(path))


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("source,target\na,b\nb,c\n", ["a", "b"]),
        ("u v\n1 2\n2 3\n", ["1", "2"]),
        ("a b\nb c\nc a\n", ["a", "b", "c"]),  # a vertex that is called like a column
        ("x y strength\n1 2 .5\n", ["1"]),
        ("% comment\n\n1\t2\n", ["1"]),
        ("a b 2\nb c 1\n", ["a", "b"]),  # a weight is no name of a column
    ],
)
def test_headers_are_told_from_edges(tmp_path, text, sources):
    assert read(tmp_path, text).sources == sources


def test_a_header_is_mentioned(tmp_path):
    assert read(tmp_path, "u v\n1 2\n").notes == ["Line 1 is taken for names of columns: u, v."]
    assert read(tmp_path, "1 2\n").notes == []


def test_weights_are_read(tmp_path):
    assert read(tmp_path, "1;2;0.5\n2;3;4\n").weights == [0.5, 4.0]
    assert read(tmp_path, "1 2\n").weights is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 2 3 4\n", "line 1 has 4 cell"),
        ("1 2\n\n3\n", "line 3 has 1 cell"),
        ("1,2,x\n1,2,-1\n", "line 2 has the weight '-1'"),
        ("1,2,1\n1,,1\n", "line 2 names no vertex"),
        ("# nothing\n", "no edges"),
        ("1 \0 2\n", "NUL"),
    ],
)
def test_bad_lines_are_named(tmp_path, text, words):
    with pytest.raises(CommandError, match=words):
        read(tmp_path, text)
