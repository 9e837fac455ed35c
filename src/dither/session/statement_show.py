"""A privacy statement as Markdown, as one HTML page, or as JSON.

Flow: `dither statement`. Names from the catalog are escaped for where they go; the page has no script, loads nothing,
follows the reader's light or dark setting and prints well.
"""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any, Protocol

from dither.exact import decimal_text
from dither.session.statement import Block, Rows, Section, Statement

__all__ = ["Shown", "to_html", "to_json", "to_markdown"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --soft: #5f5f5f; --line: #d4d4d4; --accent: #0b7285; --paper: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --soft: #a6a6a6; --line: #444; --accent: #66d9e8; --paper: #161616; } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 46rem;
       margin: 2.5rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .6rem; }
h2 { font-size: 1.08rem; margin: 2rem 0 .4rem; padding-top: .7rem; border-top: 1px solid var(--line); }
p { margin: .5rem 0; } ul { margin: .3rem 0 .8rem; padding-left: 1.2rem; } li { margin: .2rem 0; }
.opening { color: var(--soft); font-size: .92rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .7rem 0; width: 100%; font-size: .93rem;
        font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; border-bottom: 1px solid var(--soft); }
th, td { padding: .3rem 1rem .3rem 0; vertical-align: top; } tbody tr + tr td { border-top: 1px solid var(--line); }
#parameters p:first-of-type { font-size: 1.08rem; border-left: 3px solid var(--accent); padding-left: .8rem; }
@media print { body { margin: 0; max-width: none; font-size: 11pt; } h2 { break-after: avoid; }
  table { break-inside: avoid; } }
"""
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


class Shown(Protocol):
    """What a statement of any notion has to show."""

    @property
    def title(self) -> str: ...
    @property
    def language(self) -> str: ...
    @property
    def opening(self) -> tuple[str, ...]: ...
    @property
    def sections(self) -> tuple[Section, ...]: ...


def to_markdown(statement: Shown) -> str:
    parts = [f"# {_md(statement.title)}", *(_md(text) for text in statement.opening)]
    for section in statement.sections:
        parts.append(f"## {_md(section.title)}")
        parts += [_md_block(block) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


def to_html(statement: Shown) -> str:
    """The whole page."""
    sections = "\n".join(_html_section(section) for section in statement.sections)
    opening = "".join(f'<p class="opening">{_html(text)}</p>' for text in statement.opening)
    return f"""<!doctype html>
<html lang="{statement.language}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(statement.title)}</title><style>{_STYLE}</style></head><body>
<h1>{escape(statement.title)}</h1>
{opening}
{sections}
</body></html>
"""


def to_json(statement: Statement) -> str:
    """The figures as exact texts, and the sentences."""
    return json.dumps(
        {
            "title": statement.title,
            "language": statement.language,
            "date": statement.date,
            "figures": _figures(statement),
            "opening": list(statement.opening),
            "sections": [_dict(section) for section in statement.sections],
        },
        indent=2,
        ensure_ascii=False,
    )


def _figures(statement: Statement) -> dict[str, Any]:
    facts = statement.facts
    promised, spent = facts.promised, facts.spent
    return {
        "dataset": facts.catalog.name,
        "unit": facts.catalog.unit_name,
        "neighbours": facts.catalog.neighbours,
        "notion": promised.notion,
        "promised": {
            "epsilon": None if promised.epsilon is None else decimal_text(promised.epsilon),
            "rho": None if promised.rho is None else decimal_text(promised.rho),
            "delta": decimal_text(promised.delta, 36),
        },
        "spent": {
            "epsilon": decimal_text(spent.epsilon),
            "rho": decimal_text(spent.rho),
            "delta": decimal_text(spent.delta, 36),
            "gaussian": spent.gaussian,
        },
        "questions": facts.questions,
        "reuses": facts.reuses,
        "mechanisms": dict(facts.mechanisms),
        "max_rows_per_unit": dict(facts.taus),
        "release": facts.release,
        "grants": len(facts.grants),
        "ledger_head": facts.head,
        "apart": [
            {"notion": each.notion, "total": each.total, "releases": len(each.released), "head": each.head}
            for each in facts.apart
        ],
        "promise_digest": facts.catalog.promise_digest(),
        "catalog_agrees": facts.agrees,
    }


def _dict(section: Section) -> dict[str, Any]:
    return {
        "key": section.key,
        "title": section.title,
        "blocks": [
            {"table": {"heads": list(block.table.heads), "rows": [list(row) for row in block.table.rows]}}
            if block.table is not None
            else {"text": block.text, "points": list(block.points)}
            for block in section.blocks
        ],
    }


def _md_block(block: Block) -> str:
    if block.table is not None:
        return _md_table(block.table)
    points = "".join(f"\n- {_md(point)}" for point in block.points)
    return f"{_md(block.text)}\n{points}" if points else _md(block.text)


def _md_table(rows: Rows) -> str:
    lines = [rows.heads, tuple("---" for _ in rows.heads)]
    body = [tuple(_md(cell) for cell in row) for row in rows.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [*lines, *body])


def _md(text: str) -> str:
    """Text in which only our own `commands` are marked up; a line break would end a table's row."""
    plain = " ".join(text.split())
    return "".join(part if index % 2 else _SPECIAL.sub(r"\\\1", part) for index, part in enumerate(_commands(plain)))


def _html(text: str) -> str:
    return "".join(
        f"<code>{escape(part[1:-1])}</code>" if index % 2 else escape(part)
        for index, part in enumerate(_commands(" ".join(text.split())))
    )


def _commands(text: str) -> list[str]:
    """Plain text and, at odd places, `dither ...` in its marks."""
    return re.split(r"(`dither [a-z ]+`)", text)


def _html_section(section: Section) -> str:
    blocks = "".join(_html_block(block) for block in section.blocks)
    return f'<section id="{section.key}"><h2>{_html(section.title)}</h2>{blocks}</section>'


def _html_block(block: Block) -> str:
    if block.table is not None:
        heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in block.table.heads)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in block.table.rows
        )
        return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
    points = "".join(f"<li>{_html(point)}</li>" for point in block.points)
    return f"<p>{_html(block.text)}</p>{f'<ul>{points}</ul>' if points else ''}"
