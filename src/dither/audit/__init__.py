"""Try to refute privacy claims: exactly where a law is known, by sampling where only a callable is.

from dither import audit
finding = audit.test(mechanism, (d1, d2), claimed=1.0, budget_calls=1_000_000)
finding.verdict            # "violated" or "not_refuted"; never "private"
families.laplace(10, 1).epsilon()

sampled     test(mechanism, pair, ...): an event, two counts, a lower bound on epsilon     (`audit` is the same)
exact       Pair: epsilon, delta, trade-off and Renyi curves, worst event, as enclosures; `families` makes them
bounds      what counts prove: Clopper-Pearson, ratios, Gaussian mu, one run
catalogue   22 published mechanisms, wrong beside right, with the expected verdicts
symbolic    the Laplace mechanism's proof, step by step
pipeline    the whole way from SQL to answer, on invented neighbouring databases
report      a terminal table; `page` an HTML page with trade-off curves
"""

from dither.audit import bounds, catalogue, exact, families
from dither.audit.exact import Pair
from dither.audit.one_run import OneRun, one_run
from dither.audit.page import page
from dither.audit.report import Result, run, table
from dither.audit.sampled import Split, audit, test
from dither.audit.verdicts import Event, Finding, Verdict

__all__ = [
    "test",
    "audit",
    "one_run",
    "OneRun",
    "Split",
    "Finding",
    "Event",
    "Verdict",
    "Pair",
    "bounds",
    "catalogue",
    "exact",
    "families",
    "run",
    "table",
    "page",
    "Result",
]
