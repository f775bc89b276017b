"""Texts and attributes are escaped once, markup never."""

from hardbayes.core.html import Markup, join, tag


def test_texts_are_escaped_and_elements_are_not():
    assert tag("p", "a < b & c") == "<p>a &lt; b &amp; c</p>"
    assert tag("p", tag("b", "<"), None, ["x", 3]) == "<p><b>&lt;</b>x3</p>"
    assert join("<", Markup("<br>")) == "&lt;<br>"


def test_attributes():
    made = tag("a", class_="x y", aria_label='"<&>"', viewBox="0 0 1 1", hidden=True, id=None)
    quoted = "&quot;&lt;&amp;&gt;&quot;"
    assert made == f'<a class="x y" aria-label="{quoted}" viewBox="0 0 1 1" hidden></a>'
    assert tag("input", disabled=False, value=0) == '<input value="0">'


def test_markup_with_text_is_text():
    assert not isinstance(Markup("<b>") + "<i>", Markup)
    assert tag("p", Markup("<b>") + "<i>") == "<p>&lt;b&gt;&lt;i&gt;</p>"
