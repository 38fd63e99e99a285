"""The page as a file: what its policy allows, that names are harmless, and that its figures are those of check."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from netpart.api.check import check
from netpart.draw.page.job_page import draw_job_page, job_page_content
from netpart.draw.page.page_file import ASSETS, PAGE_SCRIPTS, make_page_parts, pack_content, page_script
from netpart.live.run_page import ASSETS as RUN_ASSETS
from netpart.live.run_page import run_script
from netpart.proto.reader import Job, read_job, read_job_text
from netpart.resources import zoo_folder
from netpart.units import bytes_text, count_text

NODE = shutil.which("node")
PAGE_TESTS = Path(__file__).parent / "page_scripts.test.mjs"
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def zoo_job(name: str, *settings: str) -> Job:
    return read_job(zoo_folder() / f"{name}.conf", settings)


def unpack(html: str) -> dict[str, Any]:
    """The content of a page."""
    found = re.search(r'<script type="text/plain" id="content">([\w+/=]+)</script>', html)
    assert found
    content: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(found[1])))
    return content


def evil_job() -> Job:
    """A job whose names are markup."""
    text = (zoo_folder() / "schemes" / "five-layers.conf").read_text()
    quoted = json.dumps(EVIL)
    return read_job_text(text.replace('"fc1"', quoted).replace('name: "five-layers"', f"name: {quoted}"))


def test_the_policy_allows_only_the_script_and_the_style_of_the_page() -> None:
    html = draw_job_page(zoo_job("schemes/five-layers"))
    policy = unescape(re.findall(r'Content-Security-Policy" content="([^"]*)"', html)[0])
    style, script = (
        re.findall(r"<style>(.*?)</style>", html, re.S),
        re.findall(r'<script type="module">(.*?)</script>', html, re.S),
    )
    assert len(style) == len(script) == 1
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script[0], style[0])]
    assert policy == f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'"
    assert not re.search(r"<(link|img|iframe|object)\b|\bsrc=|\bhref=|\bon\w+=|\bstyle=", html.replace(script[0], ""))
    assert "http" not in html.replace('http-equiv="', "")


def test_names_that_are_markup_stay_texts() -> None:
    html = draw_job_page(evil_job())
    assert EVIL not in html
    assert html.count("<script") == 2
    assert html.count("</script") == 2
    assert "<img" not in html
    assert EVIL in unpack(html)["boxes"]["name"]


@pytest.mark.parametrize(
    ("name", "settings"),
    [("mnist/conv", ()), ("seed/conv-mnist-layerp", ()), ("resnet/resnet18-small", ()), ("unet/unet2d-small", ()),
     ("gpt/gpt2-small", ("neuralnet.scheme=COLUMN_ROW",)), ("vit/vit-b16-small", ("neuralnet.scheme=DATA",)),
     ("mlp/column-row", ("neuralnet.micro_batches=2",))],
)  # fmt: skip
def test_figures_are_those_of_check(name: str, settings: tuple[str, ...]) -> None:
    job = zoo_job(name, *settings)
    content = job_page_content(job)
    table = check(job)
    assert content["about"]["moved"] == table.moved
    rows = {row["name"]: row for row in content["check"]["layers"]}
    assert [(row.name, row.moved, row.flops, row.memory) for row in table.layers] == [
        (name, row["moved"], row["forward_flops"] + row["backward_flops"], row["memory"]) for name, row in rows.items()
    ]
    assert [(w.sent, w.memory) for w in table.workers] == [
        (w["sent"], w["memory"]) for w in content["check"]["workers"]
    ]
    # What is drawn adds up to it: edges between layers, and sums of gradients.
    moves = content["moves"]
    assert sum(moves["forward"]) + sum(moves["backward"]) + sum(content["sums"]["bytes"]) == table.moved
    assert [[sum(row[2] for row in rows), sum(row[3] for row in rows)] for rows in moves["bridges"]] == [
        list(pair) for pair in zip(moves["forward"], moves["backward"], strict=True)
    ]


def test_equal_jobs_give_equal_pages() -> None:
    assert draw_job_page(zoo_job("mnist/conv")) == draw_job_page(zoo_job("mnist/conv"))


@pytest.mark.parametrize("whole", [page_script(ASSETS, PAGE_SCRIPTS), run_script()], ids=["net", "run"])
def test_modules_share_one_scope_without_a_name_twice(whole: str) -> None:
    names = re.findall(r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", whole, re.M)
    assert sorted(names) == sorted(set(names))
    assert not re.search(r"^(import|export)\b", whole, re.M)


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_scripts_are_correct_for_node(tmp_path: Path) -> None:
    bundles = tmp_path / "page.mjs", tmp_path / "run.mjs"
    bundles[0].write_text(page_script(ASSETS, PAGE_SCRIPTS))
    bundles[1].write_text(run_script())
    for path in (*ASSETS.glob("*.mjs"), *RUN_ASSETS.glob("*.mjs"), *bundles):
        assert subprocess.run([NODE or "", "--check", path], capture_output=True, text=True).returncode == 0, path


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_scripts_compute_what_they_should(tmp_path: Path) -> None:
    counts = [*range(0, 2048, 7), 1280, 1331, 1638400, 5**12, 2**40 + 7, 999_949, 999_950, 1023 * 1024 + 1023]
    content = job_page_content(zoo_job("gpt/gpt2-small", "neuralnet.scheme=COLUMN_ROW"))
    given = tmp_path / "given.json"
    texts = [[count, bytes_text(count), count_text(count)] for count in counts]
    given.write_text(json.dumps({"texts": texts, "content": content, "assets": ASSETS.as_uri()}))
    found = subprocess.run(
        [NODE or "", "--test", PAGE_TESTS], capture_output=True, text=True, env={"GIVEN": str(given)}
    )
    assert found.returncode == 0, found.stdout


def test_a_page_has_all_parts(tmp_path: Path) -> None:
    content = job_page_content(zoo_job("mnist/conv"))
    parts = make_page_parts(content, "a & b")
    assert "<title>a &amp; b</title>" in parts.html()
    assert pack_content(content) in parts.html()
    assert unpack(parts.html()) == json.loads(json.dumps(content))
