"""The public face, pinned: a change here is a change for every user, and belongs in the changelog."""

from __future__ import annotations

import inspect

import pytest

import dither

NAMES = [
    "Answer", "BudgetError", "BudgetExceeded", "Catalog", "CatalogError", "DitherError", "EngineError",
    "EngineMismatch", "EngineUnavailable", "Explanation", "GuaranteeError", "InvalidParameter", "LedgerConflict",
    "LedgerCorrupt",
    "LedgerError", "PolicyRefused", "QueryRefused", "Receipt", "Session", "accounting", "audit", "differences",
    "lab", "mechanisms",
    "noise", "open",
]  # fmt: skip

SIGNATURES = {
    "open": (
        "source, *, privacy_unit=None, budget=None, delta=None, bounds=None, values=None, max_rows_per_unit=None, "
        "ledger=None, analyst=None, entropy=None, clock=None"
    ),
    "Session.ask": (
        "self, question, *, epsilon=None, rho=None, within=None, at_most=None, request=None, quantile_intervals=False"
    ),
    "Session.explain": "self, question, *, epsilon=None, rho=None, within=None, quantile_intervals=False",
    "Session.tune": "self, table, *, epsilon=None, for_epsilon=1, groups=1",
    "Session.plan_budget": "self, questions, *, epsilon=None, rho=None, delta=None, wishes=None",
    "Session.series": "self, question=None, *, name, first=None, days=None, epsilon=None, rho=None",
    "Session.sampled_statistic": (
        "self, f, *, population, bounds, gamma, epsilon, table=None, rows=None, samples=None, norm=1, delta=0, "
        "otherwise=None, name=None, allowance=None, request=None"
    ),
    "Session.explain_sampled_statistic": (
        "self, f, *, population, bounds, gamma, epsilon, table=None, rows=None, samples=None, norm=1, delta=0, "
        "otherwise=None, name=None"
    ),
    "Session.budget": "self",
    "Session.close": "self",
    "Answer.rows": "self, first=None",
    "Answer.scalar": "self",
    "Answer.df": "self, *, intervals=False",
    "Answer.pl": "self, *, intervals=False",
    "Answer.arrow": "self, *, intervals=False",
    "Answer.present": ("self, *, round_to=None, suppress_below=None, nonnegative=False, reliability=False, other=None"),
    "Answer.simultaneous": "self, confidence=0.95",
    "Answer.plot": "self",
    "Answer.publish": "self, folder",
    "Explanation.plot": "self",
    "Answer.about": "self, language='en'",
    "Receipt.save": "self, path",
    "Receipt.load": "path",
}


def test_the_public_names_are_these() -> None:
    assert list(dither.__all__) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_there_and_says_what_it_is(name: str) -> None:
    assert inspect.getdoc(getattr(dither, name))
    assert name in dir(dither)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = dither.nothing_of_the_kind


@pytest.mark.parametrize(("path", "expected"), SIGNATURES.items())
def test_signatures_stay(path: str, expected: str) -> None:
    found: object = dither
    for part in path.split("."):
        found = getattr(found, part)
    assert callable(found)
    assert _shown(inspect.signature(found)) == expected


def _shown(signature: inspect.Signature) -> str:
    """Without annotations: types may be sharpened, names and defaults may not change."""
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(inspect.Signature(bare))[1:-1]
