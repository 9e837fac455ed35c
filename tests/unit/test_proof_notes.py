"""Every mechanism, rule and event has a proof note; every note that code cites is there; no note is cited by nobody.

Reads source and documents only, so that a forgotten note fails before anything runs.
"""

from __future__ import annotations

import ast
import re
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "dither"
NOTES = ROOT / "docs" / "proofs"
CITED = re.compile(r"docs/[a-z-]+/[A-Za-z0-9_/.-]*?\.md")

# Modules with nothing of their own to prove, and where what they rest on is said.
WITHOUT_NOTE = {
    "noise/draw.py": "sizes and shapes of draws; the laws are proved where they are sampled",
    "noise/entropy.py": "bytes: a computational assumption, said in docs/explanation/known-limits.md",
    "noise/interval.py": "outward-rounded arithmetic used by the enclosures, whose note covers it",
    "mechanisms/release.py": "named in mechanisms/laplace.md, which proves its saturation",
    "mechanisms/running/bounds.py": "published lower bounds, for comparison only",
    "mechanisms/running/laplace_sums.py": "tails of sums of noise, for intervals only",
    "mechanisms/running/toeplitz.py": "coefficients; what is released with them is proved in running-square-root.md",
}
EVENT_NOTES = {
    "LaplaceEvent": ("mechanisms/laplace.md", "accounting/rho-of-laplace.md"),
    "GaussianEvent": ("mechanisms/gaussian.md", "accounting/zcdp-conversion.md"),
    "ExponentialEvent": ("mechanisms/exponential.md",),
    "PureEvent": ("accounting/pure-to-zcdp.md",),
    "SelectionEvent": ("mechanisms/key-thresholds.md", "accounting/either-meter.md"),
    "ComposedEvent": ("accounting/composition.md",),
}
RULES_WITHOUT_NOTE = {"public_scan": "public rows: nobody is in them"}


def modules(*folders: str) -> list[Path]:
    return sorted(
        path for folder in folders for path in (SOURCE / folder).rglob("*.py") if path.name != "__init__.py"
    )  # fmt: skip


def docstrings(path: Path) -> Iterator[tuple[str, str]]:
    """(name, docstring) of the module and of every class and function in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield getattr(node, "name", "module"), ast.get_docstring(node) or ""


def citations() -> set[str]:
    return {found for path in modules(".") for _, text in docstrings(path) for found in CITED.findall(text)}


def cites_a_note(text: str) -> bool:
    return any(found.startswith("docs/proofs/") and (ROOT / found).exists() for found in CITED.findall(text))


@pytest.mark.parametrize("path", modules("mechanisms", "noise"), ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_a_mechanism_or_sampler_cites_its_note_or_says_why_it_has_none(path: Path) -> None:
    name = path.relative_to(SOURCE).as_posix()
    noted = any(cites_a_note(text) for _, text in docstrings(path))
    assert noted != (name in WITHOUT_NOTE), f"{name} needs a note, or its excuse is no longer needed"


def test_excuses_name_modules_that_are_there() -> None:
    assert not [name for name in WITHOUT_NOTE if not (SOURCE / name).exists()]


def test_every_kind_of_event_has_notes() -> None:
    from dither.accounting.events import Event

    assert set(EVENT_NOTES) == {kind.__name__ for kind in typing.get_args(Event)}
    assert not [note for notes in EVENT_NOTES.values() for note in notes if not (NOTES / note).exists()]


def rules() -> list[tuple[str, str]]:
    """Public functions of plan.separable, plan.joins and plan.set_operations that give a relation, with docstrings."""
    files = [SOURCE / "plan" / f"{name}.py" for name in ("separable", "joins", "set_operations")]
    return [
        (node.name, ast.get_docstring(node) or "")
        for file in files
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and node.returns is not None
        and ast.unparse(node.returns) == "Relation"
    ]


@pytest.mark.parametrize(("name", "text"), rules(), ids=[name for name, _ in rules()])
def test_a_rule_of_separability_cites_its_note(name: str, text: str) -> None:
    assert cites_a_note(text) != (name in RULES_WITHOUT_NOTE)


def test_there_are_rules_to_look_at() -> None:
    assert {"scan", "join", "semi_join", "unit_aggregate", "union_all"} <= {name for name, _ in rules()}


def test_every_way_to_truncate_is_proved() -> None:
    from dither.engines.emit import Method

    note = (NOTES / "plan" / "truncation.md").read_text(encoding="utf-8")
    headings = {line.removeprefix("### ") for line in note.splitlines() if line.startswith("### ")}
    assert headings == set(typing.get_args(Method))


def test_every_cited_document_is_there() -> None:
    assert not sorted(found for found in citations() if not (ROOT / found).exists())


def test_no_note_is_cited_by_nobody() -> None:
    notes = {path.relative_to(ROOT).as_posix() for path in NOTES.rglob("*.md")}
    assert not sorted(notes - citations())


@pytest.mark.parametrize("note", sorted((NOTES / "plan").glob("*.md")), ids=lambda p: p.stem)
def test_a_note_of_the_plan_has_its_parts(note: Path) -> None:
    """Precondition, statement with quantifiers, argument, tests, source: in this order."""
    text = note.read_text(encoding="utf-8")
    places = [text.find(part) for part in ("## Precondition", "## Statement", "## Argument", "## Tests", "Source:")]
    assert -1 not in places
    assert places == sorted(places)
    assert re.search(r"[Ff]or all|for every|For every", text), "a statement has its quantifiers"


@pytest.mark.parametrize("note", sorted(NOTES.rglob("*.md")), ids=lambda p: p.relative_to(NOTES).as_posix())
def test_tests_that_a_note_names_are_there(note: Path) -> None:
    named = re.findall(r"`(tests/[A-Za-z0-9_/.]+)`", note.read_text(encoding="utf-8"))
    assert not [path for path in named if not (ROOT / path).exists()]


def test_the_map_of_documents_names_every_page_but_the_notes() -> None:
    """Notes are reached by their folders; all other pages one by one."""
    mapped = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = [p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md") if p.name != "README.md"]
    assert not sorted(page for page in pages if not page.startswith("proofs/") and f"({page})" not in mapped)
    folders = {page.rpartition("/")[0] for page in pages if page.startswith("proofs/")}
    assert not sorted(folder for folder in folders if f"({folder}/)" not in mapped)


def test_decisions_are_numbered_without_gaps_and_say_what_would_change_them() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        text = page.read_text(encoding="utf-8")
        parts = ("**Question.**", "**Choice.**", "**Reasons.**", "**What would change our mind.**")
        assert all(part in text for part in parts), page.name
