"""Q5 - Q4 on all totals at once: at the bound with five rows, never above it, and seen when the noise is short."""

from __future__ import annotations

from dataclasses import replace

from dither import lab
from dither.lab.attacks import running as attack
from dither.lab.games import ABOVE
from dither.noise import DiscreteLaplace


def test_no_running_total_is_above_its_bound_and_five_rows_reach_it() -> None:
    # 1,800 trials a line; the lab's own alarm errs once in 2,000 lines.
    (result,) = lab.run("running", epsilons=["1"], scale="0.3")
    exact, five, many, rho = result.lines
    assert exact.value == 1.0 and exact.verdict == ""
    assert all(line.verdict != ABOVE for line in (five, many, rho))
    assert five.bound is not None and abs(five.value - five.bound) < 0.05
    assert 0.5 < many.value < five.value
    assert rho.spent == "rho 0.5"


def test_half_the_noise_is_seen(monkeypatch) -> None:
    plan = attack.plan_running_totals

    def short(*given, **named):
        planned = plan(*given, **named)
        return replace(planned, law=DiscreteLaplace(planned.law.scale / 2)) if "epsilon" in named else planned

    monkeypatch.setattr(attack, "plan_running_totals", short)
    (result,) = lab.run("running", epsilons=["1"], scale="0.3")
    assert result.lines[1].verdict == ABOVE
