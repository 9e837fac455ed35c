"""A15, what is not a number: errors, refusals, prices, what is left, time, and what a change of the rows changes.

One poisoned row makes a careless engine fail on a cast or overflow, and the failure is the answer. The adversary learns
on half of the worlds which replies go with the row, and is counted on the other half. No noise covers these channels,
so they must not depend on any row: the line for them is one half, whatever epsilon.
Rows that are exchanged between two questions may show too: an answer that differs, or has to be paid for anew, tells
that something changed. Dither gives the answer it released, for nothing, until its owner declares a new release.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dither.lab.engines import Dither, Engine, Exact, Maker, dither
from dither.lab.games import Bits, Line, counted, score_threshold, setting_of
from dither.lab.result import Options, Result
from dither.lab.worlds.table import Table

__all__ = ["QUESTIONS", "a15", "besides", "learned"]

WORLDS, CHANGED_WORLDS = 80, 24
PEOPLE = 50

QUESTIONS = (
    "SELECT COUNT(*) FROM data WHERE CAST(note AS INTEGER) > 3",
    "SELECT COUNT(*) FROM data WHERE amount * 4611686018427387904 > 0",
    "SELECT COUNT(*) FROM data WHERE 1 / (amount - 7) > 0",
    "SELECT COUNT(*) FROM data WHERE note = 1",
    "SELECT note, amount FROM data WHERE amount = 7",
    "SELECT COUNT(*) FROM data WHERE amount > 1",
)
"""Casts, overflow, division by zero, a cast nobody wrote, rows, and one question too many for the budget."""

_PRICE = Fraction(1, 4)


def a15(options: Options) -> Result:
    lines: list[Line] = []
    for maker in (Exact, dither()):
        lines += besides(maker, options)
    with TemporaryDirectory() as folder:

        def kept(table: Table, budget: Fraction, seed: int) -> Engine:
            return Dither(table, budget, seed, ledger=Path(folder) / f"{seed}.ledger")

        lines += [_changed(maker, options) for maker in (Exact, kept)]
    return Result("A15", tuple(lines))


def learned(transcripts: Sequence[Hashable], truth: Bits) -> tuple[int, int]:
    """(hits, trials): the commoner bit of each transcript in the first half, counted on the second; a transcript that
    was not seen is guessed as the commoner bit of all."""
    half = len(transcripts) // 2
    seen: dict[Hashable, Counter[bool]] = defaultdict(Counter)
    for transcript, bit in zip(transcripts[:half], truth[:half], strict=True):
        seen[transcript][bool(bit)] += 1
    usual = bool(np.mean(truth[:half]) > 0.5)
    guesses = [seen[t].most_common(1)[0][0] if t in seen else usual for t in transcripts[half:]]
    return int(np.sum(np.array(guesses) == truth[half:])), len(truth) - half


def besides(maker: Maker, options: Options) -> tuple[Line, Line]:
    """What an engine says besides numbers, and how long it takes: with and without the poisoned row."""
    started = time.monotonic()
    worlds = max(20, options.times(WORLDS))
    generator = np.random.default_rng(options.seed)
    truth = generator.integers(0, 2, worlds) == 1
    transcripts, seconds, refused = [], [], 0
    for world, poisoned in enumerate(truth):
        with maker(_table(generator, bool(poisoned)), 4 * _PRICE, options.seed * 1000 + world) as engine:
            replies = [engine.ask(question, _PRICE) for question in QUESTIONS]
            # The last fails for want of budget alone: 1/4 for each of three, then more than is left.
            replies.append(engine.ask(QUESTIONS[-1], 2 * _PRICE))
            name, booked, refused = engine.name, engine.spend(), refused + engine.refusals
        # Values are left out: they carry noise, and other attacks measure them.
        transcripts.append(tuple((r.refusal, r.price, r.remaining, len(r.rows)) for r in replies))
        seconds.append(sum(r.seconds for r in replies))
    kinds = len(set(transcripts))
    rest = {
        "baseline": 0.5, "oracle": 1.0, "spent": str(booked), "questions": worlds * (len(QUESTIONS) + 1),
        "refusals": refused, "seed": options.seed,
    }  # fmt: skip
    bound = 0.5 if booked.has_ledger else None
    setting = setting_of(4 * _PRICE, booked)
    hits, trials = learned(transcripts, truth)
    said = "one and the same transcript" if kinds == 1 else f"{kinds} different transcripts"
    shown = counted(
        "A15", name, setting, "errors, prices", hits, trials, bound=bound,
        note=f"{said} in {worlds} worlds", seconds=time.monotonic() - started, **rest,
    )  # fmt: skip
    hits, trials = score_threshold(np.array(seconds), truth)
    timed = counted(
        "A15", name, setting, "time", hits, trials, bound=bound,
        note="measured on this machine: not repeatable from the seed", **rest,
    )  # fmt: skip
    return shown, timed


def _changed(maker: Maker, options: Options) -> Line:
    """Between two visits the poisoned row goes, or stays. Here it counts whether an answer is the same as before."""
    started = time.monotonic()
    worlds = max(20, options.times(CHANGED_WORLDS))
    generator = np.random.default_rng([options.seed, 15])
    truth = generator.integers(0, 2, worlds) == 1
    transcripts, refused = [], 0
    for world, goes in enumerate(truth):
        table = _table(generator, True)
        with maker(table, 4 * _PRICE, options.seed * 1000 + world) as engine:
            replies = [engine.ask(QUESTIONS[-1], _PRICE)]
            engine.change(table.only(np.arange(PEOPLE) < PEOPLE - 1) if goes else table)
            # The same again, in other words too; then something new, and more than is left.
            asked = (QUESTIONS[-1], "SELECT COUNT(*) FROM data WHERE amount > 1.0", "SELECT COUNT(*) FROM data")
            replies += [engine.ask(question, _PRICE) for question in asked]
            replies.append(engine.ask(QUESTIONS[-1], 3 * _PRICE))
            name, booked, refused = engine.name, engine.spend(), refused + engine.refusals
        again = replies[1].rows == replies[0].rows
        transcripts.append((again, *((r.refusal, r.price, r.remaining, len(r.rows)) for r in replies)))
    hits, trials = learned(transcripts, truth)
    kinds = len(set(transcripts))
    said = "one and the same transcript" if kinds == 1 else f"{kinds} different transcripts"
    return counted(
        "A15", name, setting_of(4 * _PRICE, booked), "a changed row", hits, trials,
        bound=0.5 if booked.has_ledger else None, baseline=0.5, oracle=1.0, spent=str(booked),
        questions=worlds * 5, refusals=refused, seconds=time.monotonic() - started, seed=options.seed,
        note=f"{said} in {worlds} worlds",
    )  # fmt: skip


def _table(generator: np.random.Generator, poisoned: bool) -> Table:
    """Fifty ordinary rows; with the poisoned one, whose note is no number and whose amount is 7."""
    amounts = generator.integers(0, 2, PEOPLE)
    notes = [str(n) for n in generator.integers(0, 9, PEOPLE)]
    if poisoned:
        amounts[-1], notes[-1] = 7, "seven"
    return Table({"note": np.array(notes, dtype=object), "amount": amounts}, {"amount": (0, 7)})
