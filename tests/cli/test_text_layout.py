"""How text tables are written is found from their bytes."""

from pathlib import Path

import pytest

from hardbayes.cli.terminal import CommandError
from hardbayes.cli.text_tables import text_layout, unique_names


def layout(content, name="t.csv", **options):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return text_layout(Path(name), **options)


@pytest.mark.parametrize(
    ("content", "separator"),
    [("a,b\n1,2\n", ","), ("a;b\n1;2\n", ";"), ("a\tb\n1\t2\n", "\t"), ('"x,y"|b\n1|2\n', "|")],
)
def test_separator(content, separator):
    assert layout(content).separator == separator


def test_names_end_decides_for_tabs():
    assert layout("a,b\tc\n1\t2\n", "t.tsv").names == ["a,b", "c"]


def test_byte_order_mark_is_no_name():
    assert layout("\ufeffa,b\n1,2\n").names == ["a", "b"]


def test_first_line_of_numbers_is_no_header():
    found = layout("1,2\n3,4\n")
    assert (found.names, found.has_header, found.first_line) == (["column_1", "column_2"], False, 1)
    assert layout("1,2\n3,4\n", header=True).names == ["1", "2"]
    assert layout("a,b\n3,4\n", header=False).names == ["column_1", "column_2"]


def test_decimal_commas_only_beside_semicolons():
    assert layout("a;b\n1,5;2\n").decimal_comma
    assert not layout("a;b\n1.5;2\n").decimal_comma
    assert not layout("a,b\n1,5\n").decimal_comma


def test_names_are_made_unique():
    assert unique_names(["a", " a ", "", "a_2"]) == ["a", "a_2", "column_3", "a_2_2"]


@pytest.mark.parametrize("block_bytes", [1, 7, 1000])
def test_blocks_end_with_rows(block_bytes):
    rows = ['1,"x\ny"\n', "2,z\n", '"3\n\n",""""\n', "4,no end"]
    found = layout("a,b\n" + "".join(rows))
    blocks = list(found.blocks(block_bytes))
    assert b"".join(block for block, _ in blocks).decode() == "".join(rows) + "\n"
    assert all(block.count(b'"') % 2 == 0 and block.endswith(b"\n") for block, _ in blocks)
    line = 2
    for block, begin in blocks:
        assert begin == line
        line += block.count(b"\n")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it is empty"),
        (b"a,b\n1,2\n3,\0\n", "line 3 holds a NUL"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        (b"a,b\n1,caf\xe9\n", "line 2 is not UTF-8"),
        (b"a,b\r1,2\r", "CR"),
        (b"\n1,2\n", "first line is empty"),
        (b"a,b\n", "no rows"),
        (b",".join([b"x"] * 200_000) + b"\n1\n", "more than 100,000 columns"),
    ],
)
def test_what_is_no_table(content, says):
    with pytest.raises(CommandError, match=says):
        layout(content)


def test_a_quotation_mark_without_end():
    with pytest.raises(CommandError, match="opened in line 3"):
        list(layout('a,b\n1,2\n3,"4\n').blocks())
