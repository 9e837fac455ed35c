"""The auditor on other libraries' mechanisms, as their users get them. Fixed audit seeds; their noise has its own.

Skipped where they are not installed: `pip install -e '.[test,oracles]'` (OpenDP alone is 265 MB).
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from dither import audit
from dither.cli import main

WHY = "other libraries are in the extra `oracles`"
FOLDER = Path(__file__).parents[2] / "examples"


def of_diffprivlib(name: str, **terms: object) -> Callable[[float, int], list[float]]:
    made = getattr(pytest.importorskip("diffprivlib", reason=WHY).mechanisms, name)(**terms)
    return lambda data, n: [made.randomise(float(data)) for _ in range(n)]


def of_opendp(name: str, **terms: float) -> Callable[[float, int], list[float]]:
    dp = pytest.importorskip("opendp.prelude", reason=WHY)
    dp.enable_features("contrib")
    made = getattr(dp.m, name)(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), **terms)
    return lambda data, n: [made(float(data)) for _ in range(n)]


def test_the_laplace_mechanism_of_diffprivlib_is_flagged() -> None:
    # 20,000 calls at inputs 0 and 1; 5.9 was proven. Found in its lowest bits, where its ideal law has epsilon 1.
    laplace = of_diffprivlib("Laplace", epsilon=1, sensitivity=1)
    finding = audit.test(laplace, (0, 1), claimed=1.0, budget_calls=20_000, seed=1)
    assert finding.verdict == "violated"
    assert finding.epsilon_lower >= 4.0
    assert "bit" in finding.event.scorer.name


@pytest.mark.parametrize("calls", [20_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_the_laplace_mechanism_of_opendp_is_not_flagged(calls: int) -> None:
    # False alarm below 1e-9: the verdict is asked at that confidence.
    laplace = of_opendp("make_laplace", scale=1.0)
    finding = audit.test(laplace, (0, 1), claimed=1.0, budget_calls=calls, seed=1, confidence=1 - 1e-9)
    assert finding.verdict == "not_refuted"
    assert finding.epsilon_lower > 0.7


def test_snapping_of_diffprivlib_is_not_flagged() -> None:
    snapping = of_diffprivlib("Snapping", epsilon=1, sensitivity=1, lower=-50, upper=50)
    finding = audit.test(snapping, (0, 1), claimed=1.0, budget_calls=20_000, seed=1, confidence=1 - 1e-9)
    assert finding.verdict == "not_refuted"


def test_the_command_judges_them_as_the_page_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("diffprivlib", reason=WHY)
    pytest.importorskip("opendp", reason=WHY)
    monkeypatch.chdir(FOLDER)
    asked = ["--inputs", "0", "1", "--claimed", "1", "--calls", "20000", "--seed", "1"]
    assert main(["audit", "--target", "audited_mechanisms:diffprivlib_laplace", *asked]) == 1
    assert "exponent of the lowest set bit < -53" in capsys.readouterr().out
    assert main(["audit", "--target", "audited_mechanisms:opendp_laplace", *asked]) == 0
    assert capsys.readouterr().out.startswith("not_refuted")
