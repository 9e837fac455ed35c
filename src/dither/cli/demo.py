"""`dither demo`: the main job on real records, start to end, in a temporary folder that is gone afterwards.

The exact column and the attack without Dither are computed by plain DuckDB on public data, to show the difference.
"""

from __future__ import annotations

import shutil
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from dither.answer.answer import Answer
    from dither.cli.demo_texts import Chapter
    from dither.session.session import Session

__all__ = ["demo"]

PATIENTS = (("Ross", 1), ("Monica", 1), ("Joey", 0), ("Phoebe", 0), ("Chandler", 1))
ATTACK_EPSILON = "0.5"


class Subtitles(StrEnum):
    en = "en"
    zh = "zh"


def demo(
    lang: Annotated[
        Subtitles, typer.Option("--lang", help="zh puts a line of Chinese under each heading.")
    ] = Subtitles.en,
) -> None:
    """See it work: three questions of real records, an attack that fails, the budget. Takes two seconds."""
    with tempfile.TemporaryDirectory(prefix="dither-demo-") as folder:
        _Demo(Path(folder), chinese=lang is Subtitles.zh).run()


class _Demo:
    def __init__(self, folder: Path, *, chinese: bool) -> None:
        from dither.cli.screen import out

        self.folder = folder
        self.chinese = chinese
        self.console: Console = out()

    def run(self) -> None:
        from dither.cli.demo_texts import CHAPTERS

        self.heading(CHAPTERS["title"], style="bold reverse")
        catalog = self.write_catalog()
        self.heading(CHAPTERS["catalog"])
        self.console.print(_indented(catalog.read_text(encoding="utf-8")), style="green", markup=False)
        import dither

        with dither.open(catalog) as session:
            self.heading(CHAPTERS["ask"])
            self.ask_all(session)
            self.heading(CHAPTERS["attack"])
            self.attack()
            self.heading(CHAPTERS["budget"])
            self.budget(session)

    def write_catalog(self) -> Path:
        import dither
        from dither.cli.demo_texts import CATALOG

        shutil.copy(Path(dither.__file__).parent / "data" / "randhie.parquet", self.folder)
        catalog = self.folder / "dither.toml"
        catalog.write_text(CATALOG, encoding="utf-8")
        return catalog

    def heading(self, chapter: Chapter, style: str = "bold cyan") -> None:
        self.console.print(f"\n {chapter.english} ", style=style, markup=False)
        if self.chinese:
            self.console.print(f" {chapter.chinese}", style="cyan", markup=False)

    def ask_all(self, session: Session) -> None:
        from rich.padding import Padding

        from dither.answer.show import answer_table
        from dither.cli.demo_texts import LEGEND, QUESTIONS
        from dither.cli.tables import explanation_table

        for number, question in enumerate(QUESTIONS):
            self.console.print(f"\n {question.why.english}", style="bold", markup=False)
            if self.chinese:
                self.console.print(f" {question.why.chinese}", markup=False)
            self.console.print(_indented(_folded(question.sql)), style="green", markup=False)
            if number == 0:
                self.console.print(" dither explain, free:", style="dim")
                explanation = session.explain(question.sql, epsilon=question.epsilon)
                self.console.print(Padding(explanation_table(explanation), (0, 3), expand=False))
                self.console.print(f" dither ask --epsilon {question.epsilon}:", style="dim")
            answer = session.ask(question.sql, epsilon=question.epsilon)
            beside = [("exact", self.exact(question.sql, answer))]
            self.console.print(Padding(answer_table(answer, beside=beside), (0, 3), expand=False))
        self.console.print(f"\n {LEGEND}", style="dim", markup=False)

    def exact(self, sql: str, answer: Answer) -> list[str]:
        """The plain engine's own numbers, in the order of the answer's groups."""
        import duckdb

        with duckdb.connect(":memory:") as connection:
            connection.execute(f"CREATE VIEW care AS SELECT * FROM '{self.folder / 'randhie.parquet'}'")
            rows = dict(connection.execute(sql).fetchall())
        return [_number(rows.get(group)) for group, _ in answer.rows()]

    def attack(self) -> None:
        from rich.text import Text

        from dither.answer.about import guess_after
        from dither.answer.show import cells_of

        file = self.folder / "patients.parquet"
        four, five = self.write_patients(file)
        import dither

        bounds = {"place": (1, 5), "diabetes": (0, 1)}
        with dither.open(file, privacy_unit="name", budget=1, max_rows_per_unit=1, bounds=bounds) as session:
            answers = [session.ask(_first(places), epsilon=ATTACK_EPSILON) for places in (4, 5)]
        shown = [str(cells_of(answer)[0][0]) for answer in answers]
        difference = answers[1].scalar() - answers[0].scalar()
        listed = ", ".join(f"{name} {diabetes}" for name, diabetes in PATIENTS)
        after = guess_after(0.5, float(ATTACK_EPSILON))
        for style, label, line in (
            ("", "diabetes", listed),
            ("green", "Q4, Q5", f"{_first(4)}    and with 5"),
            ("red", "without", f"Q4 = {four}, Q5 = {five}, so Q5 - Q4 = {five - four}: Chandler has diabetes"),
            ("bold", "Dither", f"Q4 = {shown[0]}, Q5 = {shown[1]}, so Q5 - Q4 = {difference}: mostly noise"),
            (
                "dim",
                "",
                f"For epsilon {ATTACK_EPSILON} a guess of 50 % about Chandler becomes at most {100 * after:.0f} %.",
            ),
        ):
            self.console.print(Text.assemble((f"   {label:9}", "dim"), (line, style)))

    def write_patients(self, file: Path) -> tuple[int, int]:
        """Write the five patients; gives the two exact sums."""
        import duckdb

        with duckdb.connect(":memory:") as connection:
            connection.execute("CREATE TABLE patients (place INTEGER, name VARCHAR, diabetes INTEGER)")
            rows = [(place, *patient) for place, patient in enumerate(PATIENTS, start=1)]
            connection.executemany("INSERT INTO patients VALUES (?, ?, ?)", rows)
            connection.execute(f"COPY patients TO '{file}' (FORMAT parquet)")
            sums = [connection.execute(_first(places)).fetchone() or (0,) for places in (4, 5)]
        return int(sums[0][0]), int(sums[1][0])

    def budget(self, session: Session) -> None:
        from rich.padding import Padding

        from dither.cli.screen import amount
        from dither.cli.tables import grid

        ledger = session.ledger
        rows = [(_cut(entry.text), amount(entry.price.epsilon)) for entry in ledger.entries()]
        left = ledger.remaining()
        rows.append(("left of epsilon 3", amount(left.epsilon if left else None)))
        self.console.print(Padding(grid(("question", "epsilon"), rows, right=(1,)), (0, 3), expand=False))
        verified = ledger.verify()
        state = f"{verified.rows} rows, hash-chained: every one holds" if verified.holds else str(verified.problem)
        self.console.print(f"   The ledger: {state}.", style="dim")
        self.console.print("\n   Next: dither init YOUR_DATA\n", style="bold")


def _first(places: int) -> str:
    return f"SELECT SUM(diabetes) FROM patients WHERE place <= {places}"


def _number(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def _folded(sql: str) -> str:
    """A long question on two lines, broken before FROM."""
    return sql if len(sql) <= 90 else sql.replace(" FROM ", "\nFROM ", 1)


def _cut(text: str) -> str:
    return text if len(text) <= 75 else f"{text[:74]}…"


def _indented(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.rstrip().splitlines())
