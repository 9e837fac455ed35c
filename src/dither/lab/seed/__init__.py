"""The tutorial as one page that loads nothing: `docs/tutorials`, with pictures that move.

Flow: `dither lab seed` writes what `seed_page` returns. The text is the tutorial itself, so that its figures are those
a test has checked; pictures stand after the sections they belong to and reckon in the browser.

markdown    the few signs that the tutorial uses, as HTML; `highlight` colours its code
pictures    frames, sliders and words of each picture; pictures.js draws them, style.css dresses the page
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from dither.errors import GuaranteeError
from dither.lab.seed.markdown import to_html
from dither.lab.seed.pictures import WORDS, frames
from dither.lab.texts import Language, Words

__all__ = ["seed_page"]

_HERE = Path(__file__).parent
_NAMES = {"en": "from-differences-to-privacy.md", "zh": "from-differences-to-privacy.zh-CN.md"}
_CONTENTS = Words("Contents", "目录")
_FOOT = Words(
    "This page loads nothing and sends nothing. Its code blocks and their outputs are run by a test; the pictures "
    "reckon in your browser, with the browser's own random numbers.",
    "本页不加载也不发送任何东西。代码和输出由测试逐段核对；动画在你的浏览器里计算，随机数也来自浏览器。",
)


def seed_page(language: Language = "en") -> str:
    """The whole page, in one language."""
    page = to_html(tutorial(language), after=frames(language))
    contents = "".join(f'<li><a href="#{name}">{escape(title)}</a></li>' for name, title in page.sections)
    words = json.dumps({key: words.say(language) for key, words in WORDS.items()}, ensure_ascii=False)
    return (
        f'<!doctype html>\n<html lang="{"zh-CN" if language == "zh" else "en"}"><head><meta charset="utf-8">'
        f"<title>{escape(page.title)}</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_part('style.css')}</style></head><body><main><h1>{escape(page.title)}</h1>"
        f"<nav><details><summary>{_CONTENTS.say(language)}</summary>"
        f'<ol class="contents">{contents}</ol></details></nav>'
        f"{page.body}<footer>{escape(_FOOT.say(language))}</footer></main>"
        f"<script>const WORDS = {words};\n{_part('pictures.js')}</script></body></html>\n"
    )


def tutorial(language: Language) -> str:
    """The tutorial's text: beside this file in an installed package, in docs/tutorials in a checkout."""
    for folder in (_HERE, _HERE.parents[3] / "docs" / "tutorials"):
        if (folder / _NAMES[language]).is_file():
            return (folder / _NAMES[language]).read_text(encoding="utf-8")
    raise GuaranteeError("This installation lacks its tutorial.")


def _part(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
