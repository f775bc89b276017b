"""Topics by their words and documents."""

from hardbayes.markup import Markup, tag
from hardbayes.reports.facts.topics import Topic, Topics
from hardbayes.reports.numbers import percent
from hardbayes.reports.sections.tables import Section, colour, mark, section, share_bar, table


def topics_section(found: Topics) -> Section:
    """Return a card for each topic."""
    notes = []
    if len(found.topics) < found.n_topics:
        notes.append(f"The {len(found.topics)} heaviest of {found.n_topics:,} topics are shown.")
    if found.background:
        notes.append(
            f"Words that all documents share stand in a background: {', '.join(found.background)}."
        )
    widest = max(share for topic in found.topics for _, share in topic.words)
    return section(
        "topics",
        "Words and documents of each topic",
        tag(
            "p",
            "Words are those that tell most about the topic; bars and shares beside them: what "
            "part of the topic the word is. Documents are those in which the topic has the largest "
            "share.",
        ),
        [tag("p", note) for note in notes],
        tag("div", [_card(topic, widest, found.named) for topic in found.topics], class_="cards"),
    )


def _card(topic: Topic, widest: float, named: bool) -> Markup:
    words = [
        (word, percent(share), tag("td", share_bar(share, widest, colour(topic.number))))
        for word, share in topic.words
    ]
    size = f"{percent(topic.weight)} of words, in {percent(topic.prevalence)} of documents"
    documents = ", ".join(
        f"{name if named else f'document {name}'} ({percent(share)})"
        for name, share in topic.documents
    )
    return tag(
        "article",
        tag("h3", mark(topic.number), tag("span", size, class_="quiet")),
        table(f"Words of topic {topic.number}", ("word", "share", ""), words),
        tag("p", "Strongest in: ", documents, ".") if documents else None,
        class_="card",
    )


def mixed_section(found: Topics) -> Section | None:
    """Return the documents without a clear topic."""
    if not found.mixed:
        return None
    rows = [
        (each.name, mark(each.first[0]), percent(each.first[1]), mark(each.second[0]),
         percent(each.second[1]))
        for each in found.mixed
    ]  # fmt: skip
    return section(
        "mixed",
        "Documents without a clear topic",
        tag("p", "In these, the two strongest topics have nearly equal shares."),
        table("Doubtful documents", ("document", "topic", "share", "next", "share"), rows),
    )
