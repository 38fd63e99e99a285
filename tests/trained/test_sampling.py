"""Sampling: a trained net writes what it has learnt; bytes depend on net, prompt, style and seed alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import netpart
from netpart.errors import ConfigError
from netpart.launch import run as launch
from netpart.proto.reader import Job, read_job
from netpart.trained.sampling import BYTES, SamplingStyle, TextWriter, find_predictor, sample_byte
from tests.end2end.running import mlp
from tests.trained.texts import TEXT, gpt

LAWS = st.lists(st.floats(-30, 30), min_size=1, max_size=9).map(np.array)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Job, Path]:
    """A net trained on TEXT, cut over two workers."""
    folder = tmp_path_factory.mktemp("gpt")
    job = read_job(gpt(folder, steps=150))
    summary = launch.run_job(job, 2, launcher="threads", workspace=folder / "out")
    assert summary.train["loss/bits"] == pytest.approx(summary.train["loss/loss"] / np.log(2))
    assert summary.train["loss/bits"] < 1
    return job, Path(summary.checkpoint)


@pytest.fixture(scope="module")
def writer(trained: tuple[Job, Path]) -> TextWriter:
    return TextWriter(*trained)


def test_a_trained_net_goes_on_with_its_text(writer: TextWriter) -> None:
    greedy = SamplingStyle(temperature=0)
    assert bytes(writer.write(b"the quick br", 60, greedy, seed=1)) == (TEXT * 2)[12:72]


def test_python_writes_the_same_text(trained: tuple[Job, Path]) -> None:
    assert netpart.sample(*trained, prompt=b"the quick br", size=60, temperature=0) == (TEXT * 2)[12:72]


def test_a_seed_gives_one_text(writer: TextWriter) -> None:
    def text(seed: int) -> bytes:
        return bytes(writer.write(b"t", 40, SamplingStyle(temperature=2), seed))

    assert text(1) == text(1) != text(2)


def test_what_stands_behind_a_short_text_does_not_matter(writer: TextWriter) -> None:
    alone = writer.logits(b"the q").copy()
    longer = writer.logits(b"the quick")
    assert not np.array_equal(alone, longer)
    assert np.array_equal(writer.session.value("logits")[0, 4], alone)


def test_only_the_window_is_seen(writer: TextWriter) -> None:
    assert writer.window == 12
    assert np.array_equal(writer.logits(b"xyz" + TEXT[:12]).copy(), writer.logits(TEXT[:12]))


@given(logits=LAWS, uniform=st.floats(0, 1, exclude_max=True), top_k=st.integers(0, 9))
def test_a_choice_is_among_the_top_k(logits: np.ndarray, uniform: float, top_k: int) -> None:
    chosen = sample_byte(logits, SamplingStyle(1.0, top_k), uniform)
    assert 0 <= chosen < len(logits)
    assert top_k == 0 or (logits > logits[chosen]).sum() < top_k
    assert sample_byte(logits, SamplingStyle(0.0), uniform) == logits.argmax()


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_choices_follow_the_probabilities(temperature: float) -> None:
    logits, grid = np.array([0.0, 1.0, -np.inf, 2.0]), (np.arange(4000) + 0.5) / 4000
    drawn = np.bincount([sample_byte(logits, SamplingStyle(temperature), u) for u in grid], minlength=4) / len(grid)
    expected = np.exp(logits / temperature)
    assert drawn == pytest.approx(expected / expected.sum(), abs=1e-3)


def test_a_job_that_predicts_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"sample: expected a job with one kSoftmaxLoss.*got 0 of them"):
        find_predictor(read_job(mlp(tmp_path)).proto)
    assert find_predictor(read_job(gpt(tmp_path)).proto) == ("text", "logits")
    assert BYTES == 256
