"""``hardbayes topics``: topics of documents."""

import argparse
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from hardbayes.cli import options as shared
from hardbayes.cli.corpora import Counts, count_words, read_counts, read_texts
from hardbayes.cli.errors import CommandError
from hardbayes.cli.files import write_atomically
from hardbayes.cli.fitting import computed
from hardbayes.cli.messages import model_name, same_command, say, where_files_lie
from hardbayes.cli.model_files import save_values
from hardbayes.cli.reporting import write_report
from hardbayes.cli.results import check_outputs, csv_bytes, json_bytes, write_result
from hardbayes.cli.wording import counted, rounded


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
