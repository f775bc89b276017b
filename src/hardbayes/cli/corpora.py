"""Documents: a folder of text files, a column of a table, or counts with a vocabulary."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardbayes.cli.array_tables import npz_table
from hardbayes.cli.columns import check_column
from hardbayes.cli.errors import CommandError, cannot_read
from hardbayes.cli.open_table import open_table
from hardbayes.cli.text_layout import open_binary
from hardbayes.cli.wording import counted, listed


class Texts(NamedTuple):
    """Documents as text."""

    ids: list[Any]
    texts: list[str]
    notes: list[str]


class Counts(NamedTuple):
    """Documents as counts of words."""

    ids: list[Any]
    counts: Any  # (n, v), sparse
    words: list[str] | None
    notes: list[str]


def read_texts(name: str, text_column: str | None, id_column: str | None) -> Texts:
    """Return the text files of a folder, or a column of a table."""
    path = Path(name)
    if path.is_dir():
        return _folder(path)
    table = open_table(name)
    if text_column is None:
        raise CommandError(
            f"{path}: name the column that holds the texts: --text-column COLUMN, one of "
            f"{listed(table.names)}"
        )
    for column in filter(None, (text_column, id_column)):
        check_column(table, column)
    cells = table.read([], list(dict.fromkeys(filter(None, (text_column, id_column)))))
    texts = ["" if cell is None else cell for cell in cells.texts[text_column]]
    if id_column is None:
        return Texts(list(range(1, len(texts) + 1)), texts, [])
    return Texts(["" if c is None else c for c in cells.texts[id_column]], texts, [])


def read_counts(name: str, vocabulary: str | None) -> Counts:
    """Return a sparse matrix of counts, documents x words, and the words where they are given."""
    table = npz_table(Path(name))
    words = None if vocabulary is None else read_words(Path(vocabulary))
    if words is not None and len(words) != table.matrix.shape[1]:
        raise CommandError(
            f"{vocabulary}: it has {counted(len(words), 'word')} and {name} has "
            f"{counted(table.matrix.shape[1], 'column')}; give one word for each, a line each"
        )
    return Counts(list(range(1, table.n_rows + 1)), table.matrix, words, [])


def read_words(path: Path) -> list[str]:
    """Return the lines of a file of words."""
    with open_binary(path) as file:
        try:
            return file.read().decode("utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise cannot_read(path, "it is not UTF-8; save it as UTF-8") from error


def count_words(name: str, documents: Texts, stop_words: str, min_documents: int | None) -> Counts:
    """Return the counts of words: letters and digits, two at least, in lower case."""
    from sklearn.feature_extraction.text import CountVectorizer

    n = len(documents.texts)
    least = min_documents or (5 if n >= 200 else 2 if n >= 20 else 1)
    stop: Any = {"english": "english", "none": None}.get(stop_words, stop_words)
    if stop not in ("english", None):
        stop = read_words(Path(stop_words))
    # Every text counts, so that rows stay documents.
    vectorizer = CountVectorizer(stop_words=stop, min_df=min(least, n))
    try:
        counts = vectorizer.fit_transform(documents.texts)
    except ValueError as error:
        raise CommandError(
            f"{name}: no words are left after stop words and words in fewer than {least} "
            "documents; lower --min-documents, or use --stop-words none"
        ) from error
    words = [str(word) for word in vectorizer.get_feature_names_out()]
    left_out = "no stop words left out" if stop is None else f"without stop words ({stop_words})"
    documents_each = counted(least, "document")
    note = f"{counted(len(words), 'word')}: those in at least {documents_each}, {left_out}."
    return Counts(documents.ids, counts, words, [*documents.notes, note])


def count_known_words(documents: Texts, words: list[str]) -> Counts:
    """Return the counts of the words of a model."""
    from sklearn.feature_extraction.text import CountVectorizer

    counts = CountVectorizer(vocabulary=words).fit_transform(documents.texts)
    return Counts(documents.ids, counts.astype(np.float64), words, documents.notes)


def _folder(path: Path) -> Texts:
    files = sorted(
        file
        for file in path.rglob("*")
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    ids, texts, latin, binary = [], [], [], []
    for file in files:
        with open_binary(file) as opened:
            content = opened.read()
        name = str(file.relative_to(path))
        if b"\0" in content:
            binary.append(name)
            continue
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("latin-1")
            latin.append(name)
        ids.append(name)
        texts.append(text)
    if not texts:
        raise cannot_read(path, "the folder holds no text files; name another")
    notes = []
    if binary:
        notes.append(f"Left out (no text): {listed(binary)}.")
    if latin:
        notes.append(f"Read as Latin-1 (not UTF-8): {listed(latin)}.")
    return Texts(ids, texts, notes)
