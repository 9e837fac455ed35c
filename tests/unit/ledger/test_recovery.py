"""A process dies with questions unanswered: they stay charged, and they count as failures."""

from __future__ import annotations

import os
import signal
from fractions import Fraction

import pytest

from dither.errors import LedgerConflict, PolicyRefused


def die_with(open_ledger, requests) -> None:
    """Reserve in a forked child, which is then killed."""
    child = os.fork()
    if child == 0:
        try:
            ledger = open_ledger()
            for request in requests:
                ledger.reserve(request)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


def test_a_dead_process_leaves_lost_questions_that_stay_charged(open_ledger, question) -> None:
    die_with(open_ledger, [question("0.1"), question("0.2", "bob")])
    ledger = open_ledger()
    assert [entry.state for entry in ledger.entries()] == ["lost", "lost"]
    assert ledger.spent().epsilon == Fraction(3, 10)
    assert ledger.verify().holds


def test_recovery_happens_once(open_ledger, question) -> None:
    die_with(open_ledger, [question("0.1")])
    open_ledger()
    rows = len(open_ledger().log())
    assert len(open_ledger().log()) == rows == 3


def test_open_questions_of_the_living_are_left_alone(open_ledger, question, measured) -> None:
    ledger = open_ledger()
    reservation = ledger.reserve(question())
    open_ledger()
    child = os.fork()
    if child == 0:
        try:
            open_ledger()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    ledger.answer(reservation, measured())


def test_a_closed_session_cannot_answer_what_was_counted_as_lost(open_ledger, question, measured) -> None:
    ledger = open_ledger()
    reservation = ledger.reserve(question())
    ledger.close()
    again = open_ledger()
    with pytest.raises(LedgerConflict, match="lost"):
        again.answer(reservation, measured())
    assert again.spent().epsilon == Fraction(1, 10)


def test_lost_questions_count_towards_the_pause(open_ledger, question) -> None:
    die_with(open_ledger, [question("0.01") for _ in range(3)])
    with pytest.raises(PolicyRefused):
        open_ledger().reserve(question("0.01"))


def test_a_question_of_a_forked_child_is_the_childs_own(open_ledger, question) -> None:
    # The parent lives on: booked under its session, the child's question would never be found lost.
    ledger = open_ledger()
    child = os.fork()
    if child == 0:
        try:
            ledger.reserve(question())
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert open_ledger().entries()[0].state == "lost"
