"""The report and a notebook's page in a real browser: they are drawn, answer to hands and keys, and ask the network nothing.

Needs Debian's chromium (``apt-get install chromium``). Screenshots at three widths, light and dark, are left in
``build/screenshots`` to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import nbformat
import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe
from nbconvert import HTMLExporter
from playwright.sync_api import Browser, Page, sync_playwright

from pipelines import charts
from pipelines.detection import Detection, detect_in_frame
from pipelines.report.page import report_html
from tests.simulate import creature_of_habit

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
]
SCREENSHOTS = Path(__file__).parents[1] / "build" / "screenshots"
WIDTHS = (1280, 800, 390)
Scheme = Literal["light", "dark"]

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}")


@dataclass
class Looked:
    """An open page, and what went wrong or out while it was open."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def found() -> Detection:
    people = [creature_of_habit(seed=3, weeks=10), creature_of_habit(seed=4, weeks=10, user="bea")]
    return detect_in_frame(pl.concat([person.observations for person in people]))


@pytest.fixture(scope="module")
def pages(found: Detection, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The report, and a notebook's page as nbconvert exports it."""
    folder = tmp_path_factory.mktemp("pages")
    report, notebook = folder / "report.html", folder / "notebook.html"
    report.write_text(report_html(found, title="Habits of two"), encoding="utf-8")
    notebook.write_text(_notebook_page(found), encoding="utf-8")
    return {"report": report, "notebook": notebook}


def _notebook_page(found: Detection) -> str:
    """What results and charts show in Jupyter, as outputs of a notebook that is then exported."""
    one = found.explain(found.confirmed[0])
    shown = [found._repr_html_(), one._repr_html_()]
    for chart in (charts.week(found.observed, found.frame), charts.lifecycle(found.explanation)):
        bundle = chart._repr_mimebundle_()
        of_types = bundle[0] if isinstance(bundle, tuple) else bundle
        assert of_types is not None
        shown.append(of_types["text/html"])
    notebook = nbformat.v4.new_notebook()
    for page in shown:
        output = nbformat.v4.new_output("display_data", {"text/html": page})
        notebook.cells.append(nbformat.v4.new_code_cell("found", outputs=[output]))
    exporter = HTMLExporter(mathjax_url="", require_js_url="")
    return str(exporter.from_notebook_node(notebook)[0])


def look(
    browser: Browser,
    path: Path,
    width: int = 1280,
    scheme: Scheme = "light",
    script: bool = True,
) -> Looked:
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        java_script_enabled=script,
    )
    looked = Looked(context.new_page())
    looked.page.on("console", lambda said: looked.errors.append(said.text) if said.type == "error" else None)
    looked.page.on("pageerror", lambda error: looked.errors.append(str(error)))
    looked.page.on("request", lambda request: looked.requests.append(request.url))
    looked.page.goto(path.as_uri())
    return looked


@pytest.fixture
def report(browser: Browser, pages: dict[str, Path]) -> Iterator[Looked]:
    looked = look(browser, pages["report"])
    yield looked
    looked.page.context.close()


# --- both pages -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["report", "notebook"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_is_drawn_and_asks_the_network_nothing(
    name: str, scheme: Scheme, width: int, browser: Browser, pages: dict[str, Path]
) -> None:
    looked = look(browser, pages[name], width, scheme)
    page = looked.page
    page.wait_for_load_state("networkidle")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}-{width}-{scheme}.png", full_page=True)
    assert looked.errors == []
    assert looked.requests == [pages[name].as_uri()]
    drawn = page.locator("svg.marks").evaluate_all(
        "all => all.filter(e => e.checkVisibility()).map(e => [e.getBoundingClientRect().width, e.querySelectorAll('path').length])"
    )
    assert drawn
    assert all(wide > 200 and marks > 20 for wide, marks in drawn)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_report_has_no_serious_barrier(
    scheme: Scheme, width: int, browser: Browser, pages: dict[str, Path]
) -> None:
    page = look(browser, pages["report"], width, scheme).page
    page.locator(".card > summary").first.click()
    found = Axe().run(page).response["violations"]
    serious = {
        v["id"]: [n["html"][:120] for n in v["nodes"][:3]]
        for v in found
        if v["impact"] in ("serious", "critical")
    }
    assert serious == {}
    page.context.close()


def test_what_a_notebook_shows_has_no_serious_barrier(browser: Browser, pages: dict[str, Path]) -> None:
    """Of what is ours; the page around it is nbconvert's."""
    page = look(browser, pages["notebook"]).page
    found = Axe().run(page, context=".hb").response["violations"]
    assert {v["id"] for v in found if v["impact"] in ("serious", "critical")} == set()
    page.context.close()


# --- the report -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_in_a_card_overlaps(width: int, browser: Browser, pages: dict[str, Path]) -> None:
    page = look(browser, pages["report"], width).page
    overlaps = page.evaluate(
        """() => [...document.querySelectorAll('.card > summary')].filter(e => e.checkVisibility()).flatMap(summary => {
             const boxes = [...summary.children].map(e => e.getBoundingClientRect()).filter(b => b.width);
             return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b =>
               a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1).map(() => summary.innerText));
           })"""
    )
    assert overlaps == []
    page.context.close()


def test_what_is_pointed_at_says_what_it_is(report: Looked) -> None:
    page, tip = report.page, report.page.locator("#tip")
    assert tip.is_hidden()
    page.locator("svg.marks path[fill='#2f7fc4']").nth(5).hover()
    assert tip.is_visible()
    assert "a week" in tip.inner_text()
    page.locator(".hb-bar .hb-part2").first.hover()
    assert tip.inner_text().startswith("consistency ")
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def visible(page: Page) -> list[str]:
    """The sentences of the cards that are not filtered away, folded or not."""
    sentences: list[str] = page.locator(".card").evaluate_all(
        "all => all.filter(e => !e.closest('[hidden]')).map(e => e.querySelector('.says').textContent.trim())"
    )
    return sentences


def test_the_filter_finds_words_and_types(report: Looked, found: Detection) -> None:
    page = report.page
    page.locator("#person").select_option("")
    assert len(visible(page)) == found.frame.height
    page.locator("#words").fill("swim")
    assert visible(page)
    assert all("swim" in sentence.lower() for sentence in visible(page))
    assert page.locator("#count").inner_text() == f"{len(visible(page))} of {found.frame.height} patterns"
    page.locator("#words").fill("")
    page.get_by_label("Times", exact=True).uncheck()
    kinds = set(page.locator(".card:visible").evaluate_all("all => all.map(e => e.dataset.type)"))
    assert "temporal" not in kinds
    assert "avoidance" in kinds
    page.locator("#words").fill("no such thing")
    assert visible(page) == []
    assert page.locator(".none:visible").count() == 2
    page.locator("#words").fill("")
    page.get_by_label("Times", exact=True).check()
    assert len(visible(page)) == found.frame.height


def test_one_person_is_shown_at_a_time_or_everybody(report: Looked) -> None:
    page = report.page
    assert page.locator(".person:visible").count() == 1
    page.locator("#person").select_option("2")
    assert page.locator(".person:visible").get_attribute("id") == "person-2"
    page.locator("#people a").first.click()
    assert page.locator(".person:visible").get_attribute("id") == "person-1"
    page.locator("#person").select_option("")
    assert page.locator(".person:visible").count() == 2


def test_the_keyboard_reaches_everything(report: Looked) -> None:
    page = report.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the patterns"
    assert page.locator(".skip").bounding_box()["y"] >= 0  # type: ignore[index]
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    card = page.locator(".card > summary").first
    card.focus()
    page.keyboard.press("Enter")
    assert page.locator(".card .behind").first.is_visible()


def test_without_script_the_page_is_complete(browser: Browser, pages: dict[str, Path]) -> None:
    page = look(browser, pages["report"], script=False).page
    assert page.locator(".person:visible").count() == 2
    assert page.locator(".filter").is_hidden()
    assert page.locator(".card:visible").count() > 5
    page.context.close()


def test_on_paper_there_is_no_filter_and_everything_unfolds(report: Looked) -> None:
    page = report.page
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator(".filter").is_hidden()
    assert page.locator("details.fold:not([open])").count() == 0
    assert page.pdf()[:4] == b"%PDF"
