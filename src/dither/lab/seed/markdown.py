"""The signs of Markdown that the tutorials use, as HTML: headings, paragraphs, lists, tables, code, formulas, emphasis.

Flow: `seed_page` hands over a text of ours; nothing foreign is ever rendered, and what is not one of these signs stays
text, escaped. Links to other documents become plain words: a page that stands alone cannot follow them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from itertools import groupby

from dither.lab.seed.highlight import coloured

__all__ = ["Rendered", "to_html"]

_WIDE = r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]"
_INLINE = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<strong>.+?)\*\*|\*(?P<em>.+?)\*|\[(?P<link>[^\]]+)\]\((?P<to>[^)]+)\)")


@dataclass(frozen=True)
class Rendered:
    title: str
    sections: tuple[tuple[str, str], ...]
    """(anchor, heading) of each section."""
    body: str


def to_html(text: str, *, after: Mapping[str, str]) -> Rendered:
    """The text as HTML. after: what to put at the end of a section, by its anchor (`s7` for "7. Five patients")."""
    title, _links, *blocks = _blocks(text)
    parts: list[str] = []
    sections: list[tuple[str, str]] = []
    for block in blocks:
        if block.startswith("## "):
            parts.append(after.get(sections[-1][0], "") if sections else "")
            heading = block.removeprefix("## ")
            number = re.match(r"\d+", heading)
            sections.append((f"s{number[0]}" if number else f"s{len(sections) + 1}", heading))
            parts.append(f'<h2 id="{sections[-1][0]}">{_inline(heading)}</h2>')
        else:
            parts.append(_block(block))
    parts.append(after.get(sections[-1][0], "") if sections else "")
    return Rendered(title.removeprefix("# "), tuple(sections), "".join(parts))


def _blocks(text: str) -> Iterable[str]:
    """Paragraphs, tables, lists, formulas and fenced blocks, in order."""
    fenced = re.split(r"^(```\w+\n.*?^```)$", text, flags=re.MULTILINE | re.DOTALL)
    for part in fenced:
        if part.startswith("```"):
            yield part
            continue
        # A formula's own empty lines belong to it.
        lines = re.sub(r"\n\n(?=    )", "\n    \n", part).split("\n")
        for kind, group in groupby(
            lines, key=lambda line: "formula" if line.startswith("    ") else bool(line.strip())
        ):
            if kind:
                yield "\n".join(group).strip("\n")


def _block(block: str) -> str:
    lines = block.split("\n")
    if block.startswith("```"):
        code = "\n".join(lines[1:-1])
        is_code = lines[0] == "```python"
        return f'<pre class="code"><code>{coloured(code)}</code></pre>' if is_code else _output(code)
    if block.startswith("    "):
        shown = "\n".join(line[4:] for line in lines).strip("\n")
        return f'<pre class="formula">{_words(shown)}</pre>'
    if block.startswith("|"):
        return _table(lines)
    if block.startswith("- "):
        items = "".join(f"<li>{_inline(item)}</li>" for item in re.split(r"^- ", block, flags=re.MULTILINE)[1:])
        return f"<ul>{items}</ul>"
    # A line break between two Chinese characters is no space.
    joined = re.sub(rf"(?<={_WIDE})\n|\n(?={_WIDE})", "", block).replace("\n", " ")
    return f"<p>{_inline(joined)}</p>"


def _output(text: str) -> str:
    return f'<pre class="output"><samp>{escape(text)}</samp></pre>'


def _table(lines: list[str]) -> str:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    head, body = rows[0], rows[2:]
    heading = "".join(f"<th>{_inline(cell)}</th>" for cell in head) if any(head) else ""
    cells = "".join("<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>" for row in body)
    return f'<div class="wide"><table>{f"<thead><tr>{heading}</tr></thead>" if heading else ""}{cells}</table></div>'


def _inline(text: str) -> str:
    parts, end = [], 0
    for found in _INLINE.finditer(text):
        parts.append(_words(text[end : found.start()]))
        parts.append(_marked(found))
        end = found.end()
    return "".join([*parts, _words(text[end:])])


def _words(text: str) -> str:
    return escape(text.replace(" - ", " \u2212 "))


def _marked(found: re.Match[str]) -> str:
    if found["code"]:
        return f"<code>{escape(found['code'])}</code>"
    if found["strong"]:
        return f"<strong>{_inline(found['strong'])}</strong>"
    return f"<em>{_inline(found['em'])}</em>" if found["em"] else _inline(found["link"])
