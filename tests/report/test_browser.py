"""What people see: the page in a real Chromium, at the width of a desktop and of a phone."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from healthcheck.report import page
from tests.support import reports
from tests.support.chromium import Browser, Tab

pytestmark = pytest.mark.slow
WIDTHS = {"desktop": 1280, "phone": 390}


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_bytes(page.render(reports.report(simulated=True), reports.run(problems=120)))
    return path


@pytest.fixture(params=WIDTHS)
def tab(request, browser: Browser, file: Path) -> Tab:
    return browser.open(file, width=WIDTHS[request.param])


def test_a_reader_sees_the_verdict_the_next_step_and_all_sections(tab: Tab) -> None:
    text = tab.text()
    assert text.lstrip("?✗✓ \n").startswith("SIMULATED endpoint")
    for needed in ("Not ready: plan/port failed", "deploy.sh:7: write --port 8000", "must listen on port 8000",
                   "loading weights", "it will print", "95 % interval", "Accuracy by tier", "Provenance",
                   "the start-up time-out"):  # fmt: skip
        assert needed in text
    assert tab.evaluate("document.querySelectorAll('#grid button').length") == 600
    assert tab.evaluate("document.querySelectorAll('#grid button.failed').length") == 1
    drawings = tab.evaluate("document.querySelectorAll('svg').length")
    assert drawings == 4, "the figures, and the accuracy by tier, by operation and by length"


def test_nothing_is_wider_than_the_window_and_nothing_complains_or_calls_out(
    tab: Tab, file: Path
) -> None:
    tab.click("#grid button.wrong")
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    outside = (
        "[...document.querySelectorAll('body *')].filter(e => !e.closest('svg') && e.getBoundingClientRect().width"
        " && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 90))"
    )
    assert tab.evaluate(outside) == []
    assert tab.complaints() == []
    assert tab.requests() == [file.as_uri()]


def test_text_is_large_enough_to_read_in_every_drawing(tab: Tab) -> None:
    smallest = tab.evaluate(
        "Math.min(...[...document.querySelectorAll('svg text')].map(e => e.getBoundingClientRect().height))"
    )
    assert smallest >= 9


def test_a_click_shows_prompt_answer_extraction_and_gold(tab: Tab) -> None:
    tab.click("#grid button.wrong")
    shown = tab.text("#sample")
    run = reports.run(problems=120)
    wrong = [
        sample for sample, grade in zip(run.samples, run.grades, strict=True) if not grade.correct
    ]
    place = int(shown.split('"order":')[1].split(";")[0])
    (sample,) = (sample for sample in wrong if sample.order == place)
    for needed in (
        run.problems[sample.problem].question,
        "<script>window.broken",
        "extraction",
        "AISBench reads",
    ):
        assert needed in shown
    assert f"gold\n{run.problems[sample.problem].answer}" in shown


def test_the_keyboard_reaches_a_square_and_moves_on(tab: Tab) -> None:
    tab.evaluate("document.querySelector('#grid button[tabindex=\"0\"]').focus()")
    tab.press("ArrowRight")
    first = tab.text("#sample h3")
    tab.press("ArrowDown")
    second = tab.text("#sample h3")
    assert ", sample 1 of 5" in first
    assert second.startswith(first.split(",")[0] + ", sample 2 of 5")
    assert tab.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert tab.evaluate("document.querySelectorAll('#grid button[tabindex=\"0\"]').length") == 1


def test_only_wrong_answers_are_shown_on_request(tab: Tab) -> None:
    shown = "[...document.querySelectorAll('#grid button.cell')].filter(e => e.checkVisibility()).map(e => e.className)"
    before = tab.evaluate(shown)
    tab.click("#wrong-only")
    only = tab.evaluate(shown)
    assert len(before) == 600
    assert only == [name for name in before if name not in {"cell right", "cell loose"}]
    tab.click("#grid button.wrong:not([hidden])")
    tab.press("ArrowRight")
    assert tab.evaluate("document.activeElement.className").split()[1] not in {"right", "loose"}
    tab.click("#wrong-only")
    assert len(tab.evaluate(shown)) == 600


def test_what_strangers_wrote_does_nothing(tab: Tab) -> None:
    tab.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    for kind in ("wrong", "failed"):
        tab.click(f"#grid button.{kind}")
        assert "onerror=" in tab.text("#sample")
    assert tab.evaluate("window.broken === undefined")
    assert tab.evaluate("document.querySelectorAll('img, iframe, object, [onerror]').length") == 0
    assert tab.evaluate("document.scripts.length") == 2
    assert "{{ 7 * 7 }}" in tab.text()
    assert "\x1b" not in tab.text()


def test_an_injected_script_would_be_refused(tab: Tab) -> None:
    tab.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'broken = 1'}))"
    )
    assert tab.evaluate("window.broken === undefined")
    assert tab.complaints(), "the policy said nothing"


def test_contrast_is_enough_in_light_and_dark(browser: Browser, file: Path) -> None:
    measure = """(() => {
      const parse = (text) => text.match(/[\\d.]+/g).map(Number);
      const light = (rgb) => rgb.slice(0, 3).map(v => v / 255)
        .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
      const ground = (e) => { for (; e; e = e.parentElement) {
        const rgb = parse(getComputedStyle(e).backgroundColor); if (rgb.length < 4 || rgb[3] > .99) return rgb; }
        return [255, 255, 255]; };
      const low = [];
      for (const e of document.querySelectorAll('h1, h2, h3, p, dt, dd, a, td, th, summary, li, cite, .badge, .mark')) {
        if (!e.innerText?.trim()) continue;
        const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
        if ((a + .05) / (b + .05) < 4.5) low.push(e.className + ': ' + e.innerText.slice(0, 40));
      }
      return low;
    })()"""
    for dark in (False, True):
        tab = browser.open(file, width=1280, dark=dark)
        tab.click("#grid button.wrong")
        assert tab.evaluate(measure) == []


def test_every_control_has_a_name_and_headings_do_not_skip_a_level(tab: Tab) -> None:
    assert tab.evaluate(
        "[...document.querySelectorAll('button')].every(b => b.getAttribute('aria-label')"
        " || b.textContent.trim()) && [...document.querySelectorAll('svg')].every(s => s.getAttribute('aria-label'))"
    )
    levels = tab.evaluate(
        "[...document.querySelectorAll('h1, h2, h3')].map(h => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_it_prints(tab: Tab) -> None:
    assert tab.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("width", WIDTHS.values())
def test_a_report_without_a_measurement_has_no_empty_parts(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(page.render(reports.report()))
    tab = browser.open(path, width=width)
    assert "Every sample" not in tab.text()
    assert tab.complaints() == []
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    dangling = "[...document.querySelectorAll('nav a')].filter(a => !document.querySelector(a.hash)).length"
    assert tab.evaluate(dangling) == 0
