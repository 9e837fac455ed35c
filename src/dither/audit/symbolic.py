"""The Laplace mechanism's proof, done by a computer algebra system, one step at a time.

Flow: stands alone; `dither audit proof` prints it, `page` shows it. Relies on: SymPy, imported on use.

Each step is a sentence, the formula it is about, and a check that SymPy carries out. The density is of a vector: every
coordinate has its own centre x_i, and the densities are multiplied, not one density of an unspecified |x - z|.
Source of the argument: Dwork, McSherry, Nissim, Smith 2006, Proposition 1; Dwork, Roth 2014, Theorem 3.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from dither.errors import InvalidParameter

__all__ = ["Proof", "Step", "proofs", "prove_discrete_laplace", "prove_laplace"]


@dataclass(frozen=True)
class Step:
    """One step; `holds` is what SymPy found, not what we hoped."""

    statement: str
    formula: str
    holds: bool


@dataclass(frozen=True)
class Proof:
    claim: str
    steps: tuple[Step, ...]

    @property
    def holds(self) -> bool:
        return all(step.holds for step in self.steps)

    def __str__(self) -> str:
        lines = [self.claim, ""]
        for number, step in enumerate(self.steps, 1):
            lines.append(f"{number}. {step.statement}  [{'checked' if step.holds else 'FAILS'}]")
            lines += [f"     {line}" for line in step.formula.splitlines()] + [""]
        return "\n".join([*lines, "Proved." if self.holds else "Not proved."])


def proofs() -> tuple[Proof, ...]:
    """All of them. Raises InvalidParameter where SymPy is not installed."""
    if find_spec("sympy") is None:
        raise InvalidParameter(
            "dither audit proof", expected="SymPy, which does the algebra", found="none", hint="pip install sympy"
        )
    return prove_laplace(), prove_discrete_laplace()


def prove_laplace(dimension: int = 3) -> Proof:
    """f(D) + Laplace(Delta/epsilon) on `dimension` coordinates is epsilon-DP when ||f(D) - f(D')||_1 <= Delta."""
    import sympy as sp

    b, sensitivity, epsilon = sp.symbols("b Delta epsilon", positive=True)
    x, y, z = (sp.symbols(f"{name}_1:{dimension + 1}", real=True) for name in "xyz")
    one, other = (sp.prod([_density(sp, at, centre, b) for at, centre in zip(z, side, strict=True)]) for side in (x, y))
    log_ratio = sp.expand_log(sp.log(one / other), force=True)
    summed = sp.Add(*[(sp.Abs(c - v) - sp.Abs(c - u)) / b for u, v, c in zip(x, y, z, strict=True)])
    bound = sp.Add(*[sp.Abs(u - v) for u, v in zip(x, y, strict=True)]) / b
    steps = (
        Step(
            "The density on database D, with x_i = f_i(D), is a product over coordinates.",
            f"p_x(z) =\n{sp.pretty(one)}",
            _integrates_to_one(sp, b),
        ),
        Step(
            "So the logarithm of the ratio of two databases, y_i = f_i(D'), is a sum over coordinates.",
            f"ln p_x(z)/p_y(z) =\n{sp.pretty(summed)}",
            sp.simplify(sp.expand(log_ratio - summed)) == 0,
        ),
        Step(
            "Each term is at most |x_i - y_i|/b. With u = z_i - x_i and v = z_i - y_i, (u - v)^2 - (|v| - |u|)^2 is 0"
            " when the signs agree and 4|u||v| when they differ; so |v| - |u| <= |u - v|.",
            _sign_cases(sp)[1],
            _sign_cases(sp)[0],
        ),
        Step(
            "Added up: the L1 distance over b, less the logarithm, is the sum of what step 3 leaves, term by term.",
            f"ln p_x(z)/p_y(z) <=\n{sp.pretty(bound)}\n<= Delta/b",
            _splits_into_slacks(sp, bound - summed, tuple(zip(x, y, z, strict=True)), b),
        ),
        Step(
            "With b = Delta/epsilon that is epsilon.",
            "Delta/b = epsilon",
            sp.simplify((sensitivity / b).subs(b, sensitivity / epsilon) - epsilon) == 0,
        ),
        Step(
            "And no smaller epsilon will do: left of both centres the ratio is e^(|x - y|/b) exactly.",
            "z = x - t, y = x + d, t, d > 0:  ln p_x(z)/p_y(z) = d/b",
            _attained(sp, b),
        ),
    )
    return Proof("The Laplace mechanism with b = Delta/epsilon is epsilon-differentially private.", steps)


def prove_discrete_laplace() -> Proof:
    """The same for integers: P(X = k) = (1-a)/(1+a) a^|k|, a = e^(-1/b)."""
    import sympy as sp

    a, b = sp.symbols("a b", positive=True)
    k = sp.symbols("k", integer=True, nonnegative=True)
    u, v = sp.symbols("u v", integer=True)
    half = a / (1 - a)  # the sum of a^k over k >= 1, |a| < 1
    series = sp.summation(a**k, (k, 1, sp.oo)).args[0][0]
    total = (1 - a) / (1 + a) * (1 + 2 * half)
    exponent = sp.expand_log(sp.log(a ** sp.Abs(u) / a ** sp.Abs(v)).subs(a, sp.exp(-1 / b)), force=True)
    steps = (
        Step(
            "The probabilities add up to 1.",
            "(1-a)/(1+a) (1 + 2 sum_(k>=1) a^k) = 1",
            sp.simplify(series - half) == 0 and sp.simplify(total - 1) == 0,
        ),
        Step(
            "The logarithm of the ratio at u = k - x, v = k - y is (|v| - |u|)/b.",
            f"ln P_x(k)/P_y(k) =\n{sp.pretty((sp.Abs(v) - sp.Abs(u)) / b)}",
            sp.simplify(sp.expand(exponent - (sp.Abs(v) - sp.Abs(u)) / b)) == 0,
        ),
        Step("Which is at most |x - y|/b, by the same four sign cases.", _sign_cases(sp)[1], _sign_cases(sp)[0]),
    )
    return Proof(
        "Integer noise of the discrete Laplace law with b = Delta/epsilon is epsilon-differentially private.", steps
    )


def _density(sp: Any, at: Any, centre: Any, b: Any) -> Any:
    return sp.exp(-sp.Abs(at - centre) / b) / (2 * b)


def _integrates_to_one(sp: Any, b: Any) -> bool:
    """Of one coordinate around its centre, by halves."""
    t = sp.symbols("t", positive=True)
    return bool(sp.simplify(2 * sp.integrate(sp.exp(-t / b) / (2 * b), (t, 0, sp.oo)) - 1) == 0)


def _sign_cases(sp: Any) -> tuple[bool, str]:
    """(u - v)^2 - (|v| - |u|)^2 in each of the four cases of signs, with A = |u| and B = |v|."""
    size_u, size_v = sp.symbols("A B", nonnegative=True)
    lines, holds = [], True
    for sign_u in (1, -1):
        for sign_v in (1, -1):
            u, v = sign_u * size_u, sign_v * size_v
            gap = sp.factor(sp.expand((u - v) ** 2 - (size_v - size_u) ** 2))
            expected = sp.Integer(0) if sign_u == sign_v else 4 * size_u * size_v
            holds = holds and sp.simplify(gap - expected) == 0 and bool(gap.is_nonnegative)
            lines.append(f"u = {u}, v = {v}:  (u - v)^2 - (|v| - |u|)^2 = {gap}")
    return holds, "\n".join(lines)


def _splits_into_slacks(sp: Any, rest: Any, coordinates: tuple[tuple[Any, Any, Any], ...], b: Any) -> bool:
    """Is `rest` the sum over coordinates of (|x - y| - |z - y| + |z - x|)/b, each >= 0 by the sign cases?"""
    slacks = [(sp.Abs(x - y) - sp.Abs(z - y) + sp.Abs(z - x)) / b for x, y, z in coordinates]
    return bool(sp.simplify(sp.expand(rest - sp.Add(*slacks))) == 0)


def _attained(sp: Any, b: Any) -> bool:
    t, d = sp.symbols("t d", positive=True)
    ratio = _density(sp, -t, 0, b) / _density(sp, -t, d, b)
    return bool(sp.simplify(sp.log(ratio) - d / b) == 0)
