"""The page in a real browser: GPT-2 on 4 workers, its size, speed, traffic, keys and texts. Needs chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from netpart.cli.main import main
from netpart.draw.page.job_page import draw_job_page
from netpart.resources import zoo_folder
from netpart.units import bytes_text
from tests.browser import Browser, Page, open_browser
from tests.draw.test_page_file import EVIL, evil_job

pytestmark = [pytest.mark.peers, pytest.mark.slow]

READY = "document.body.dataset.ready !== undefined"
PARTS = 3552
MOST_BYTES = 1_500_000
FIRST_PAINT = 1000
"""Milliseconds."""
FRAMES, MEASURED = 30, 3000
"""Frames a second while the drawing moves, over so many milliseconds."""
PANNING = """new Promise((done) => {
  const view = netPage.cut;
  const start = performance.now();
  let frames = 0;
  const next = (now) => {
    if (now - start > %d) return done(1000 * frames / (now - start));
    frames += 1;
    view.pan(0, frames %% 200 < 100 ? -8 : 8);
    view.paint();
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
})"""


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of GPT-2 on 4 workers, of 3 552 parts."""
    path = tmp_path_factory.mktemp("page") / "net.html"
    job = zoo_folder() / "gpt" / "gpt2.conf"
    assert main(["draw", str(job), "--workers", "4", "--scheme", "column-row", "-o", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


def opened_page(browser: Browser, path: Path, width: int = 1400, height: int = 900, dark: bool = False) -> Page:
    page = browser.new_page(width, height, dark=dark)
    page.open(path.as_uri())
    page.until(READY)
    return page


def test_it_is_small_paints_at_once_and_loads_nothing(browser: Browser, gpt2: Path) -> None:
    assert gpt2.stat().st_size <= MOST_BYTES
    page = opened_page(browser, gpt2)
    page.until("performance.getEntriesByName('first-contentful-paint').length")
    assert page.run("performance.getEntriesByName('first-contentful-paint')[0].startTime") <= FIRST_PAINT
    assert page.requests() == [gpt2.as_uri()]
    assert page.errors() == []
    refused = "fetch('https://example.org').then(() => 'loaded', () => 'refused')"
    assert page.run(refused) == "refused"


@pytest.mark.alone
@pytest.mark.parametrize("scale", [0, 1, 0.5, 0.2, 0.1, 0.03])
def test_moving_all_parts_is_smooth(browser: Browser, gpt2: Path, scale: float) -> None:
    page = opened_page(browser, gpt2)
    page.run("netPage.unfoldAll(true)")
    if scale:
        page.run(f"netPage.cut.zoom({scale} / netPage.cut.scale, 300, 10), netPage.cut.pan(0, -300)")
    assert page.run(PANNING % MEASURED) >= FRAMES


def test_each_part_is_there_and_can_be_reached(browser: Browser, gpt2: Path) -> None:
    page = opened_page(browser, gpt2)
    page.press("u")
    leaves = "netPage.model.boxes.layout.filter((layout) => layout < 0).length"
    assert page.run(leaves) == PARTS
    page.run("netPage.choose({ box: netPage.model.byName.get('b7-fc1-02') })")
    page.until("netPage.cut.placement.rectangle(netPage.model.byName.get('b7-fc1-02'))")
    assert "computes [:, :, :] of inputs 384:576" in page.run("document.getElementById('panel').textContent")
    assert page.errors() == []


def test_which_edge_moves_most_and_why(browser: Browser, gpt2: Path) -> None:
    page = opened_page(browser, gpt2)
    page.press("e")
    first = "document.querySelector('#panel tbody tr')"
    assert page.run(f"{first}.textContent") == "next → loss9.2 GiB26.0%"
    page.click_on("#panel tbody button")
    text = page.run("document.getElementById('panel').textContent")
    assert "reduce-scatter next among workers 0, 1, 2, 3: carries next" in text
    assert "for loss-00: next [0:2, :, :], 4 addends from workers 0, 1, 2, 3" in text
    assert "--set 'next.partition_dim=0'" in text
    assert bytes_text(page.run("netPage.model.content.about.moved")) in text
    assert page.run("netPage.cut.look.chosen.arrow") is True


def test_blocks_of_the_text_unfold_on_a_click_and_fold_again(browser: Browser, gpt2: Path) -> None:
    page = opened_page(browser, gpt2)
    names = "netPage.model.children[0].map((box) => netPage.model.name(box))"
    assert page.run(names) == ["data", "tokens", "positions", "12 × b1 … b12", "norm", "next", "loss"]
    middle = """(() => {
      const view = netPage.cut, place = view.canvas.getBoundingClientRect();
      const [x, y, width] = view.placement.rectangle(netPage.model.children[0][3]);
      return [place.left + view.left + view.scale * (x + width / 2), place.top + view.top + view.scale * (y + 12)];
    })()"""
    page.click(*page.run(middle))
    page.until("netPage.cut.placement.isOpen(netPage.model.children[0][3])")
    assert page.run("netPage.uncut.placement.isOpen(netPage.model.children[0][3])") is True
    page.press("f")
    assert page.run("netPage.cut.placement.isOpen(netPage.model.children[0][3])") is False


def test_keys_search_and_list(browser: Browser, gpt2: Path) -> None:
    page = opened_page(browser, gpt2)
    page.press("/")
    assert page.run("document.activeElement.id") == "search"
    page.type("b3-gelu")
    page.press("Enter")
    page.until("document.querySelector('#panel h2').textContent === 'b3-gelu'")
    page.run("document.activeElement.blur()")
    page.press("l")
    assert "12 × b1 … b12" in page.run("document.getElementById('list').textContent")
    page.press("d")
    assert page.run("document.documentElement.dataset.theme") == "dark"
    page.press("w")
    assert "waits for worker" in page.run("document.getElementById('lines').textContent")
    assert page.errors() == []


def test_names_that_are_markup_do_nothing(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "evil.html"
    path.write_text(draw_job_page(evil_job()))
    page = opened_page(browser, path)
    page.run("window.alert = () => { window.hit = true; }")
    for key in "etulw":
        page.press(key)
    page.run("netPage.model.boxes.name.forEach((_, box) => netPage.choose({ box }))")
    page.run("netPage.model.content.moves.source.forEach((_, move) => netPage.choose({ move }))")
    assert EVIL in page.run("document.getElementById('title').textContent")
    assert (
        page.run("window.hit === undefined && document.querySelectorAll('img, #panel script, #list script').length")
        == 0
    )
    assert page.errors() == []


@pytest.mark.parametrize(("width", "height"), [(360, 800), (1400, 900), (3840, 2160)])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_every_screen(browser: Browser, gpt2: Path, width: int, height: int, dark: bool) -> None:
    page = opened_page(browser, gpt2, width, height, dark)
    page.press("e")
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run("netPage.cut.canvas.clientHeight") >= 0.3 * height
    assert page.run("document.documentElement.dataset.theme") == ("dark" if dark else "light")
    data = "netPage.cut.context.getImageData(0, 0, netPage.cut.canvas.width, 400).data"
    colours = page.run(f"new Set({data}.filter((_, at) => at % 4 === 0)).size")
    assert colours > 10
