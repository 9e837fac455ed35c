"""Several processes at one ledger of a notion apart, and processes that die on it. Nothing is charged twice or lost."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from dither.accounting import MetricLoss, RandomLoss
from dither.errors import BudgetExceeded, LedgerConflict
from dither.ledger.apart import ApartLedger

METRES = "metres in the plane"
PROCESSES = 6


def metric(epsilon: Fraction | int = 0) -> MetricLoss:
    return MetricLoss(Fraction(epsilon), METRES)


def open_ledger(path: str, allowance: MetricLoss | None = None) -> ApartLedger[MetricLoss]:
    return ApartLedger.open(path, metric(), allowance=allowance, wait_s=60)


def race(work: Callable[[int], int]) -> list[int]:
    """Run `work(number)` in each of the processes; what each returned (at most 16 bits)."""
    pipes, children = [], []
    for number in range(PROCESSES):
        reader, writer = os.pipe()
        if (child := os.fork()) == 0:
            try:
                os.write(writer, work(number).to_bytes(2, "big"))
            finally:
                os._exit(0)
        os.close(writer)
        pipes.append(reader)
        children.append(child)
    results = [os.read(reader, 2) for reader in pipes]
    for reader, child in zip(pipes, children, strict=True):
        os.close(reader)
        os.waitpid(child, 0)
    assert all(len(result) == 2 for result in results), "a process died"
    return [int.from_bytes(result, "big") for result in results]


def test_processes_that_begin_it_together_spend_one_allowance_to_its_end_and_not_further(tmp_path: Path) -> None:
    path = str(tmp_path / "x.apart")

    def spend(number: int) -> int:
        ledger, won = open_ledger(path, metric(1)), 0
        try:
            while True:
                entry = ledger.reserve(metric(Fraction(1, 60)), what=f"points of {number}")
                ledger.answered(entry, f"{number:064x}")
                won += 1
        except BudgetExceeded:
            return won

    assert sum(race(spend)) == 60
    ledger = open_ledger(path)
    assert ledger.total() == metric(1) and ledger.left() == metric(0)
    assert len(ledger.log()) == 60 and {entry.state for entry in ledger.log()} == {"answered"}
    assert ledger.verify().holds


def test_one_key_in_all_processes_is_one_charge_and_one_answer(tmp_path: Path) -> None:
    path = str(tmp_path / "x.apart")

    def release(number: int) -> int:
        ledger = open_ledger(path)
        entry = ledger.reserve(metric(1), what="points", key="once")
        try:
            # A caller must not release a repeated entry; one that does finds that another was first.
            ledger.answered(entry, f"{number:064x}")
        except LedgerConflict:
            return 0
        return 1

    assert sum(race(release)) == 1
    assert open_ledger(path).total() == metric(1) and len(open_ledger(path).log()) == 1


@pytest.mark.parametrize("answered", [False, True])
def test_a_process_killed_after_reserving_leaves_its_charge(tmp_path: Path, answered: bool) -> None:
    path = str(tmp_path / "x.apart")
    child = os.fork()
    if child == 0:
        try:
            ledger = open_ledger(path)
            entry = ledger.reserve(metric(1), what="points", key="k")
            if answered:
                ledger.answered(entry, "d" * 64)
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(70)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    ledger = open_ledger(path)
    assert ledger.total() == metric(1) and ledger.verify().holds
    assert [entry.state for entry in ledger.log()] == ["answered" if answered else "reserved"]
    again = ledger.reserve(metric(1), what="points", key="k")
    assert again.repeated and ledger.total() == metric(1)


def test_processes_killed_at_any_moment_lose_nothing_they_said(tmp_path: Path) -> None:
    """30 children, each killed 0 to 15 ms after it began to say what it did. Catches: a charge that is not durable when
    `reserve` returns, and a charge or an answer without a row."""
    path = str(tmp_path / "x.apart")
    zero = RandomLoss(Fraction(0), Fraction(0), Fraction(0), "adults")
    cost = RandomLoss(Fraction(1, 1000), Fraction(0), Fraction(1, 10**6), "adults")
    ApartLedger.open(path, zero).close()
    said: list[tuple[str, str]] = []
    for number in range(30):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                ledger = ApartLedger.open(path, zero, wait_s=60)
                while True:
                    entry = ledger.reserve(cost, what="a mean")
                    os.write(writer, f"R {entry.id}\n".encode())
                    ledger.answered(entry, "d" * 64)
                    os.write(writer, f"A {entry.id}\n".encode())
            finally:
                os._exit(70)
        os.close(writer)
        select.select([reader], [], [], 30)
        time.sleep(0.015 * number / 30)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(reader) as lines:
            said += [(line[0], line[2:].strip()) for line in lines if line.endswith("\n")]
    ledger = ApartLedger.open(path, zero)
    states = {entry.id: entry.state for entry in ledger.log()}
    assert len(said) > 30 and all(entry in states for _, entry in said)
    assert all(states[entry] == "answered" for kind, entry in said if kind == "A")
    assert ledger.total() == cost * len(states) and ledger.verify().holds
    assert len(states) <= sum(kind == "R" for kind, _ in said) + 30
