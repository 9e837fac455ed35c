"""Pages of plain blocks print what they show: the tutorial in both languages, and guides written the same way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.pages import blocks_of, printed

ROOT = Path(__file__).parents[2]
ENGLISH = ROOT / "docs" / "tutorials" / "from-differences-to-privacy.md"
STREAMS = ROOT / "docs" / "how-to" / "release-totals-day-by-day.md"
LIBRARY = ROOT / "docs" / "how-to" / "use-as-a-library.md"
OPAQUE = ROOT / "docs" / "how-to" / "opaque-statistics.md"
CHINESE = ROOT / "docs" / "tutorials" / "from-differences-to-privacy.zh-CN.md"


@pytest.mark.parametrize(
    ("page", "least"),
    [(ENGLISH, 24), (STREAMS, 6), (LIBRARY, 12), (OPAQUE, 4)],
    ids=["tutorial", "streams", "library", "opaque"],
)
def test_a_page_prints_what_it_shows(page: Path, least: int) -> None:
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    assert len(blocks) >= least
    for block, found in zip(blocks, printed(blocks, page), strict=True):
        assert found == block.shown, f"line {block.line} of the page"


def test_both_languages_show_the_same_code_and_the_same_output() -> None:
    one, two = (
        [(block.code, block.shown) for block in blocks_of(page.read_text(encoding="utf-8"))]
        for page in (ENGLISH, CHINESE)
    )
    assert one == two


@pytest.mark.parametrize("page", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_every_block_runs_and_no_figure_is_said_that_was_not_printed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    # Every block of code or output is one that the test above runs: a stray one would go unread.
    assert text.count("```python") + text.count("```text") == sum(
        1 + bool(block.shown) for block in blocks_of(text)
    ) and text.count("```") == 2 * (text.count("```python") + text.count("```text"))
    shown = "\n".join(block.shown + block.code for block in blocks_of(text))
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    said = set(re.findall(r"\d+\.\d+|\d{1,3}(?:,\d{3})+", prose))
    assert not sorted(number for number in said if number.replace(",", "") not in shown.replace("_", ""))


@pytest.mark.parametrize("page", [ENGLISH, CHINESE, STREAMS, LIBRARY, OPAQUE], ids=lambda page: page.stem)
def test_links_lead_to_files_that_are_there(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_a_wrong_output_would_be_seen() -> None:
    text = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n\n```python\nx = 1\n```\n"
    blocks = blocks_of(text)
    assert [block.shown for block in blocks] == ["3\n", ""]
    assert printed(blocks, ENGLISH) == ["2\n", ""]
