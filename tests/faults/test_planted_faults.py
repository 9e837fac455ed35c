"""The audit sees every planted fault, and nothing where none is planted.

Each fault is one function of the production path made wrong. Planted alone it turns the check that is named for it red;
the same check without it is green, so it is the fault that is seen.
Sampled checks: n = 20,000 to 100,000 outcomes or 40,000 units, fixed seeds; with other seeds a right pipeline is called
violated with probability below 1e-6 a line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dither.audit.pipeline import CHECKS, Line
from faults.planted import FAULTS, Fault, table

ROOT = Path(__file__).resolve().parents[2]


_SOUND: dict[Any, list[Line]] = {}


def sound(fault: Fault) -> list[Line]:
    """The same audit without the fault; run once for all faults that share it."""
    if fault.audit not in _SOUND:
        _SOUND[fault.audit] = fault.lines()
    return _SOUND[fault.audit]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_audit_sees_the_fault_and_nothing_without_it(fault: Fault) -> None:
    with fault.planted():
        found = fault.lines()
    assert any(line.violated for line in found), f"{fault.words}\nnot seen by {fault.check}: {found}"
    without = sound(fault)
    assert without and not any(line.violated for line in without), [line for line in without if line.violated]


def test_there_are_faults_for_every_check_and_none_twice() -> None:
    assert {fault.check for fault in FAULTS} == set(CHECKS)
    assert len({fault.words for fault in FAULTS}) == len({fault.name for fault in FAULTS}) == len(FAULTS) >= 20


def test_the_page_lists_every_fault_and_the_check_that_sees_it() -> None:
    page = (ROOT / "docs" / "explanation" / "verification.md").read_text(encoding="utf-8")
    assert table() in page, f"the table of faults on that page should be:\n{table()}"
