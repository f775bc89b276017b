"""Reports in a real browser: nothing is loaded or blocked, handle, keys and legend work."""

import json
import re

import pytest

from hardbayes import DPMeans, report
from tests.reports.browser import CHROMIUM, Browser
from tests.test_layers import clusters_within_clusters

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no browser: install Chromium (Debian: apt-get install chromium)"
)


@pytest.fixture(scope="module")
def browser():
    started = Browser()
    yield started
    started.close()


def shown(browser):
    return browser.run("document.getElementById('shown').textContent")


def colours(browser):
    """Return the clusters that are drawn, and how many points each has."""
    return browser.run(
        "Object.fromEntries([...document.querySelectorAll('#points path')].map("
        "path => [path.dataset.cluster, path.getAttribute('d').split('M').length - 1]))"
    )


@pytest.mark.parametrize(
    "kind",
    ["clusters", "sparse", "gaussian", "groups", "features", "graph", "topics", "mixed", "levels"],
)
@pytest.mark.parametrize("window", [{}, {"dark": True}, {"width": 360, "height": 740}])
def test_pages_load_nothing_and_fit_the_window(kind, window, browser, reports):
    browser.open(reports[kind], **window)
    assert browser.complaints() == []
    assert browser.requests() == [reports[kind].as_uri()]
    assert browser.run("typeof window.hit") == "undefined"
    widths = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    page, inside = browser.run(widths)
    assert page <= inside


def test_the_theme_follows_the_system(browser, reports):
    papers = []
    for dark in (False, True):
        browser.open(reports["clusters"], dark=dark)
        papers.append(browser.run("getComputedStyle(document.body).backgroundColor"))
    assert papers == ["rgb(255, 255, 255)", "rgb(18, 22, 29)"]


def test_hostile_names_are_text(browser, reports):
    browser.open(reports["clusters"])
    assert browser.run("document.body.textContent.includes('<script>window.hit')")
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.run("document.title").startswith("3 clusters: </script>")


def test_other_scripts_are_blocked(browser, reports, tmp_path):
    whole = reports["clusters"].read_text(encoding="utf-8")
    broken = tmp_path / "broken.html"
    broken.write_text(whole.replace("</main>", "<script>window.hit = 3</script></main>"))
    browser.open(broken)
    assert browser.run("typeof window.hit") == "undefined"
    assert any("Content Security Policy" in line for line in browser.complaints())


def test_keys_move_from_solution_to_solution(browser, reports):
    browser.open(reports["clusters"])
    assert re.fullmatch(r"Penalty \S+: 3 clusters \(the fitted model\)", shown(browser))
    fitted = colours(browser)
    assert len(fitted) == 3 and sum(fitted.values()) == 60
    browser.run("document.getElementById('penalty').focus()")
    browser.press("ArrowLeft")
    told = browser.run("document.getElementById('penalty').getAttribute('aria-valuetext')")
    assert re.fullmatch(r"penalty \S+: [4-9] clusters", told)
    assert len(colours(browser)) > 3 and sum(colours(browser).values()) == 60
    browser.press("End")
    assert "1 cluster," in shown(browser) and list(colours(browser).values()) == [60]
    browser.run("document.getElementById('back').click()")
    assert colours(browser) == fitted
    assert browser.run("document.getElementById('back').disabled")


def test_the_handle_is_dragged(browser, reports):
    browser.open(reports["clusters"])
    browser.run(
        "document.getElementById('path').scrollIntoView({block: 'center', behavior: 'instant'})"
    )
    box = browser.run("JSON.stringify(document.getElementById('path').getBoundingClientRect())")
    box = json.loads(box)
    middle = box["top"] + box["height"] / 2
    browser.drag((box["left"] + box["width"] / 2, middle), (box["right"] - 20, middle))
    assert ": 1 cluster," in shown(browser)
    assert browser.run("document.getElementById('penalty').value > 950")
    browser.drag((box["right"] - 20, middle), (box["left"] + 50, middle))
    assert len(colours(browser)) > 3


def test_the_legend_highlights(browser, reports):
    browser.open(reports["clusters"])
    dim = "[...document.querySelectorAll('#points .dim')].length"
    browser.run("document.querySelector('#legend button').focus()")
    browser.press("Enter")
    assert browser.run(dim) == 2
    pressed = "document.querySelector('#legend button').getAttribute('aria-pressed')"
    assert browser.run(pressed) == "true"
    browser.press("Enter")
    assert browser.run(dim) == 0


def test_levels_are_shown(browser, reports):
    browser.open(reports["levels"])
    tables = "[...document.querySelectorAll('[data-table]')].map(table => table.hidden)"
    pressed = "document.querySelector('[data-level][aria-pressed=true]')?.textContent"
    fitted = colours(browser)
    assert sorted(fitted.values()) == [20] * 9
    assert browser.run(tables) == [True, False] and browser.run(pressed) == "9 clusters"
    browser.run("document.querySelector('[data-level=\"0\"]').click()")
    assert sorted(colours(browser).values()) == [60] * 3
    assert set(colours(browser)) <= set(fitted)  # colours stay
    assert browser.run(tables) == [False, True] and browser.run(pressed) == "3 clusters"
    assert shown(browser) == "Level of 3 clusters"
    browser.run("document.getElementById('back').click()")
    assert colours(browser) == fitted and browser.run(tables) == [True, False]
    browser.run("document.getElementById('penalty').focus()")
    browser.press("End")
    assert browser.run(pressed) is None and browser.complaints() == []


def test_levels_without_a_path(browser, tmp_path):
    rows, _, _ = clusters_within_clusters(20)
    model = DPMeans(random_state=0).fit(rows)
    report(model, rows, tmp_path / "page.html", penalty_path=False, certainty=False)
    browser.open(tmp_path / "page.html")
    browser.run("document.querySelector('[data-level=\"0\"]').click()")
    assert sorted(colours(browser).values()) == [60] * 3 and browser.complaints() == []


def test_tab_reaches_the_slider(browser, reports):
    browser.open(reports["clusters"])
    for _ in range(12):
        browser.press("Tab")
        if browser.run("document.activeElement.id") == "penalty":
            break
    assert browser.run("document.activeElement.id") == "penalty"


def test_without_scripts_everything_but_the_slider_is_there(browser, reports):
    browser.open(reports["clusters"], script=False)
    height = browser.call("Page.getLayoutMetrics")["cssContentSize"]["height"]
    assert height > 1500
    document = browser.call("DOM.getDocument")["root"]["nodeId"]
    slider = browser.call("DOM.querySelector", nodeId=document, selector="#slider[hidden]")
    drawn = browser.call("DOM.querySelectorAll", nodeId=document, selector="#points path")
    assert slider["nodeId"] and len(drawn["nodeIds"]) == 3


def test_print(browser, reports, tmp_path):
    browser.open(reports["clusters"], dark=True)
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.run("getComputedStyle(document.getElementById('slider')).display") == "none"
    hidden = "getComputedStyle(document.querySelector('details'), '::details-content')"
    assert browser.run(f"{hidden}.contentVisibility") == "visible"
    browser.pdf(tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")


def contrast(first, second):
    def light(colour):
        parts = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
        parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2] + 0.05

    first, second = light(first), light(second)
    return max(first, second) / min(first, second)


@pytest.mark.parametrize("dark", [False, True])
def test_contrast(dark, browser, reports):
    """WCAG 2: 4.5 for texts, 3 for marks."""
    browser.open(reports["clusters"], dark=dark)
    probe = """(name => { const e = document.createElement('i'); document.body.append(e);
        e.style.color = `var(--${name})`; return getComputedStyle(e).color; })"""
    colour = {
        name: browser.run(f"{probe}('{name}')")
        for name in ("paper", "panel", "ink", "quiet", "accent", "warm")
    }
    for paper in ("paper", "panel"):
        for ink in ("ink", "quiet", "accent", "warm"):
            assert contrast(colour[paper], colour[ink]) >= 4.5, (paper, ink)
    for number in range(8):
        mark = browser.run(f"{probe}('c{number}')")
        assert contrast(colour["paper"], mark) >= 3, number
