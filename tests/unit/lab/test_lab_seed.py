"""The tutorial's page: one file that loads nothing, holds the whole tutorial, and reckons as the library does."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import dither.lab.seed as seed
from dither.cli import main
from dither.differences import derivative, fractional_coefficients
from dither.lab import bounds
from dither.lab.seed import seed_page, tutorial
from dither.lab.seed.highlight import coloured
from dither.lab.seed.markdown import to_html
from dither.lab.seed.pictures import WORDS
from dither.noise import DiscreteLaplace
from support.pages import blocks_of

SCRIPT = Path(seed.__file__).parent / "pictures.js"
LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])


class Balance(HTMLParser):
    """Every tag that is opened is closed, in order."""

    alone = {"meta", "input", "br"}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in self.alone:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def words_of(page: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", page))


@LANGUAGES
def test_the_page_loads_nothing(language: str) -> None:
    page = seed_page(language)
    assert not re.search(r"https?:(?!//www\.w3\.org/2000/svg)|<link|<img|\ssrc=|@import|url\(|fetch\(|import\(", page)
    assert page.count("<script>") == page.count("</script>") == 1
    parser = Balance()
    parser.feed(page)
    assert not parser.open


@LANGUAGES
def test_the_page_holds_the_whole_tutorial(language: str) -> None:
    page = seed_page(language)
    text = words_of(page)
    for block in blocks_of(tutorial(language)):
        assert block.code.strip("\n") in text and block.shown.strip("\n") in text
    headings = re.findall(r"^## (.+)$", tutorial(language), flags=re.MULTILINE)
    assert len(headings) == page.count("<h2 ") > 14 and all(heading in text for heading in headings)
    assert "](" not in re.sub(r"<script>.*</script>", "", page, flags=re.DOTALL).replace("list[int](", "")


@LANGUAGES
def test_every_picture_stands_in_the_page_with_the_controls_its_script_asks_for(language: str) -> None:
    page, script = seed_page(language), SCRIPT.read_text(encoding="utf-8")
    drawn = re.findall(r'new Picture\("(\w+)"', script)
    assert len(drawn) == 5 and drawn == re.findall(r'<figure class="picture" id="(\w+)"', page)
    assert set(re.findall(r'\bget\("(\w+)"\)', script)) <= set(re.findall(r'type="range" name="(\w+)"', page))
    assert set(re.findall(r'what === "(\w+)"', script)) | {"again", "play"} == set(re.findall(r'data-do="(\w+)"', page))


def test_every_word_is_used_and_said_in_both_languages() -> None:
    script = SCRIPT.read_text(encoding="utf-8")
    spoken = set(re.findall(r"WORDS\.(\w+)", script)) | {"forward", "backward", "central", "each", "step", "half"}
    assert spoken == set(WORDS)
    for words in WORDS.values():
        assert re.search(r"[\u4e00-\u9fff]", words.zh)
        assert re.findall(r"\{\d\}", words.en) == re.findall(r"\{\d\}", words.zh)


def test_the_pictures_reckon_as_the_library_does() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node to run the page's script")
    asked = """
        const m = require(process.argv[1]);
        const q = m.quotients((x) => x ** 3, 1, 0.25);
        console.log(JSON.stringify({q, mass: [0, 1, -3].map((k) => m.laplaceMass(k, 2)), v: m.laplaceVariance(2),
          guess: m.bestGuess(1), half: m.halfInverse(6), density: m.laplaceDensity(-3, 2),
          twice: m.filtered(m.halfInverse(5), m.filtered(m.halfInverse(5), [3, 1, 4, 1, 5]))}));
    """
    done = subprocess.run([node, "-e", asked, str(SCRIPT)], capture_output=True, text=True, timeout=60, check=True)
    found, law = json.loads(done.stdout), DiscreteLaplace(2)
    for scheme in ("forward", "backward", "central"):
        assert found["q"][scheme] == pytest.approx(derivative(lambda x: x**3, 1.0, step=0.25, scheme=scheme))
    assert found["mass"] == pytest.approx([float(law.pmf_bounds(k)[0]) for k in (0, 1, -3)])
    assert found["v"] == pytest.approx(law.variance()) and found["guess"] == pytest.approx(bounds.accuracy(1))
    assert found["half"] == pytest.approx(fractional_coefficients("-1/2", 6).tolist())
    assert found["twice"] == pytest.approx(np.cumsum([3, 1, 4, 1, 5]).tolist())
    assert found["density"] == pytest.approx(0.25 * np.exp(-1.5))


def test_signs_become_html_and_all_else_is_escaped() -> None:
    page = to_html(
        "# A <title>\n\n[x](y.md) dropped\n\nFirst *words* & `a < b`, **bold**, [a link](there.md).\n\n"
        "## 3. Part\n\n    a  b\n\n      c\n\n|  |  |\n|---|---|\n| one | 2 |\n\n"
        "- x\n- y\n\n```python\nif x: pass\n```\n",
        after={"s3": "<b>picture</b>"},
    )
    assert page.title == "A <title>" and page.sections == (("s3", "3. Part"),)
    assert "<p>First <em>words</em> &amp; <code>a &lt; b</code>, <strong>bold</strong>, a link.</p>" in page.body
    assert '<pre class="formula">a  b\n\n  c</pre>' in page.body
    assert (
        "<table><tr><td>one</td><td>2</td></tr></table>" in page.body and "<ul><li>x\n</li><li>y</li></ul>" in page.body
    )
    assert "dropped" not in page.body and '<span class="keyword">if</span> x: ' in page.body


def test_what_follows_the_last_section_comes_at_its_end() -> None:
    page = to_html(
        "# T\n\nlinks\n\n## 1. One\n\ntext\n\n## 2. Two\n\nend\n", after={"s1": "<i>1</i>", "s2": "<i>2</i>"}
    )
    assert page.body.endswith("<p>end</p><i>2</i>") and "<p>text</p><i>1</i><h2" in page.body


def test_a_line_break_between_chinese_characters_is_no_space() -> None:
    body = to_html("# T\n\nlinks\n\n差分\n隐私 a\nb\n", after={}).body
    assert body == "<p>差分隐私 a b</p>"


def test_colours_change_no_letter() -> None:
    code = 'x = f"{1 + 1:>5}"  # <b>\nfor é in ("ß", 2):\n    print(é)\n\n'
    assert words_of(coloured(code)) == code
    assert '<span class="comment"># &lt;b&gt;</span>' in coloured(code)


@LANGUAGES
def test_the_command_writes_the_page(tmp_path: Path, language: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "seed.html"
    assert main(["lab", "seed", "--lang", language, "--out", str(out)]) == 0
    assert out.read_text(encoding="utf-8") == seed_page(language)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["seed", "--out", "x.txt"], ["seed", "--out", "/nowhere/at/all.html"], ["A1", "--out", "x.html"],
     ["seed", "--report", "x.html"], ["seed", "--epsilon", "1"]],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", *arguments]) == 2
    said = capsys.readouterr().err
    assert "InvalidParameter" in said or "No such option" in said
