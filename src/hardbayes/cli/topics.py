"""``hardbayes topics``: topics of documents.

Documents are a folder of text files, a column of a table, or counts with a vocabulary.
"""

import argparse
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardbayes.cli import options as shared
from hardbayes.cli.messages import model_name, same_command, say, where_files_lie
from hardbayes.cli.readers import npz_table, open_table
from hardbayes.cli.results import (
    check_outputs,
    csv_bytes,
    json_bytes,
    save_values,
    write_atomically,
    write_report,
    write_result,
)
from hardbayes.cli.rows import check_column
from hardbayes.cli.terminal import CommandError, cannot_read, computed, listed, rounded
from hardbayes.cli.text_tables import open_binary
from hardbayes.core.loop import counted


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


def add_parser(commands: Any) -> None:
    """Add ``topics`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "topics",
        help="find topics of documents",
        description="Find topics of documents; how many there are is found.",
    )
    parser.add_argument(
        "table",
        metavar="CORPUS",
        help="a folder of text files, a table with --text-column, or a sparse matrix of counts "
        "(.npz), documents x words",
    )
    parser.add_argument("--text-column", metavar="COLUMN", help="the texts in a table")
    parser.add_argument("--id-column", metavar="COLUMN", help="names the documents in the result")
    parser.add_argument("--vocabulary", metavar="FILE", help="the words of .npz, one a line")
    parser.add_argument(
        "--stop-words",
        default="english",
        metavar="english|none|FILE",
        help="words to leave out (default: english)",
    )
    parser.add_argument(
        "--min-documents",
        type=shared.number,
        metavar="N",
        help="leave out words in fewer documents (default: 5; 2 of under 200, 1 of under 20)",
    )
    parser.add_argument("--about-k", type=shared.number, metavar="K", help="about K topics")
    parser.add_argument(
        "--top-words", type=shared.number, default=8, metavar="N", help="words shown of each topic"
    )
    shared.add_seed(parser)
    shared.add_results(
        parser, "the topics of each document", centers="word shares of topics", rows=False
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, fit, write, tell."""
    check_outputs(options, "output", "centers", "report", "save")
    corpus = read_corpus(options)
    model, warned = computed(options.table, lambda: fitted(options, corpus))
    shares, _ = computed(options.table, lambda: model.transform(corpus.counts))
    names = corpus.words or [f"x{j}" for j in range(corpus.counts.shape[1])]
    top = model.top_words(options.top_words, names)
    if options.json:
        content = json_bytes(
            {
                "file": options.table,
                "n_topics": int(model.n_topics_),
                "objective": float(model.objective_),
                "status": model.status_,
                "notes": corpus.notes + warned,
                "top_words": top,
                "documents": corpus.ids,
                "labels": model.labels_.tolist(),
                "shares": np.round(shares, 6).tolist(),
            }
        )
    else:
        content = shares_bytes(corpus.ids, model.labels_, shares, options.output)
    if options.centers is not None:
        shares_of = {f"topic_{k}": row.tolist() for k, row in enumerate(model.components_)}
        table = csv_bytes({"word": names, **shares_of}, options.centers)
        write_atomically(Path(options.centers), table)
    write_report(options, model, corpus.counts, feature_names=names, row_names=corpus.ids)
    if options.save is not None:
        values = {"kind": "words", "words": corpus.words, "text_column": options.text_column}
        save_values(options, model, values if corpus.words else None)
    write_result(options, content)
    n_words = int(corpus.counts.sum())
    say(
        "",
        f"{options.table}: {counted(len(corpus.ids), 'document')}, {counted(n_words, 'word')} in "
        "all",
        *corpus.notes,
        "",
        f"Found {counted(model.n_topics_, 'topic')}: each costs {rounded(model.global_penalty_)} "
        f"nats, and {rounded(model.local_penalty_)} in a document of mean length that uses it.",
        *(f"Note: {line}" for line in warned),
        "",
        *topic_lines(model, top),
        "",
        *where_files_lie(options, "topics of documents"),
        next_command(options),
    )


def read_corpus(options: argparse.Namespace) -> Counts:
    """Return the documents as counts."""
    if Path(options.table).suffix.lower() == ".npz":
        return read_counts(options.table, options.vocabulary)
    if options.vocabulary is not None:
        raise CommandError("--vocabulary belongs to counts in an .npz file; leave it out")
    texts = read_texts(options.table, options.text_column, options.id_column)
    return count_words(options.table, texts, options.stop_words, options.min_documents)


def fitted(options: argparse.Namespace, corpus: Counts) -> Any:
    """Return the fitted model."""
    from hardbayes import HDPTopics

    return HDPTopics(n_topics=options.about_k, random_state=options.seed).fit(corpus.counts)


def shares_bytes(ids: list[Any], labels: Any, shares: Any, output: str | None) -> bytes:
    """Return the topic with the largest share of each document, and all shares, as CSV."""
    columns = {f"share_{k}": column.tolist() for k, column in enumerate(np.round(shares, 6).T)}
    return csv_bytes({"document": ids, "topic": labels.tolist(), **columns}, output)


def topic_lines(model: Any, top: list[list[str]]) -> list[str]:
    """Return a table of the topics as lines of text."""
    total = model.topic_weights_.sum()
    lines = ["topic  documents  words   words that tell most about it"]
    for k, words in enumerate(top):
        share = 100 * model.topic_weights_[k] / total
        lines.append(
            f"{k:5d} {model.topic_documents_[k]:10,.0f} {share:4.0f} %   {', '.join(words)}"
        )
    return lines


def next_command(options: argparse.Namespace) -> str:
    """Return what to type next."""
    if options.save is not None:
        return f"Next: hardbayes predict {shlex.quote(options.save)} NEW_CORPUS"
    return same_command(options, model_name(options.table))
