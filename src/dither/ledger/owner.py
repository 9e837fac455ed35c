"""The owner's commands: each is explicit, logged, and says what it does to the promise.

Flow: `dither budget grant`, `release open` and their kin call these. Relies on `journal`, `limits`.
No command takes a charge back. A grant raises a limit from now on; `promised` then adds the deltas of all levels.
Proof of what a grant leaves promised: docs/proofs/ledger/grants.md
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dither.accounting.admission import Budget
from dither.accounting.price import Price, rho_of_pure
from dither.errors import InvalidParameter
from dither.exact import Number, decimal_text, exact
from dither.ledger import overdraft
from dither.ledger.amounts import DELTA_QUANTUM, LARGEST, price_json
from dither.ledger.base import LedgerBase, check_reason
from dither.ledger.chain import Json
from dither.ledger.effects import levels_of
from dither.ledger.journal import Page, facts_of_kind
from dither.ledger.limits import allowance_of, budget_of, terms_of_analyst
from dither.ledger.model import Grant
from dither.ledger.standing import DATASET, Standing, Terms, analyst_level

__all__ = ["OwnerCommands"]


class OwnerCommands(LedgerBase):
    def grant(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        analyst: str | None = None,
        reason: str,
    ) -> Grant:
        """Raise the data set's budget, or one analyst's allowance within it, by these amounts.
        Returns the limit now in force and the worst case promised."""
        step = Terms(_step(epsilon, "epsilon"), exact(delta, "delta"), _step(rho, "rho"))
        _check_step(step, analyst)
        check_reason(reason)
        with self._journal.writing() as page:
            dataset = page.dataset()
            _check_notion(self._budget(dataset), step)
            if analyst is not None:
                return self._grant_allowance(page, dataset, analyst, step, reason)
            budget = budget_of(dataset.levels[-1].raised(step))
            page.append("granted", facts={"step": step.to_json(), "reason": reason}, before={DATASET: dataset})
            levels = [*(budget_of(terms) for terms in dataset.levels), budget]
            promised = overdraft.promised(page.connection, levels)
        return Grant(DATASET, _grant_sentence(budget, promised), promised.epsilon, promised.rho, promised.delta)

    def unfreeze(self, analyst: str | None = None, *, reason: str = "") -> None:
        """Say that the owner has looked at the failures of an analyst, or of the whole data set: asking goes on."""
        check_reason(reason)
        with self._journal.writing() as page:
            page.append("unfrozen", facts={"reason": reason, **self._recorded(analyst)}, analyst=analyst)

    def adopt_promise(self, digest: str, reason: str) -> None:
        """Go on under another promise. What was spent stays spent; the log names both promises from now on."""
        check_reason(reason)
        with self._journal.writing() as page:
            page.append("promise", facts={"promise": digest, "reason": reason})
        self.promise_digest = digest

    def open_release(self, name: str, reason: str | None = None) -> None:
        """Begin a new public epoch: vectors of earlier releases are no longer reused.
        Not to be called because data changed: that the data changed would be told by it."""
        if not 0 < len(name) <= 100 or not name.isprintable():
            raise InvalidParameter("release", expected="1 to 100 printable characters", found=name)
        check_reason(reason)
        with self._journal.writing() as page:
            if name in _used_releases(page):
                raise InvalidParameter("release", expected="a name not used before", found=name)
            page.append("release", facts={"release": name, "reason": reason})

    def charge_worst_case(self, reason: str) -> Price:
        """After restoring a backup: charge all that the ledger could have admitted since, and return that charge.
        Which of the two meters kept the lost questions inside the budget is unknown, so each is charged as if the
        other had.  Statement: docs/proofs/ledger/restored-backup.md"""
        check_reason(reason)
        with self._journal.writing() as page:
            dataset = page.dataset()
            price = _everything(self._budget(dataset), dataset)
            page.append("restored", facts={"price": price_json(price), "reason": reason}, before={DATASET: dataset})
        return price

    def _grant_allowance(self, page: Page, dataset: Standing, analyst: str, step: Terms, reason: str) -> Grant:
        who = self._analyst(analyst)
        before = page.standings(*levels_of("granted", {}, analyst=analyst, day=page.day))
        own = before.get(analyst_level(analyst), Standing(recorded=terms_of_analyst(who)))
        budget = self._budget(dataset)
        if allowance_of(budget, who, own) is None:
            raise InvalidParameter(
                "analyst",
                expected="one who has an allowance",
                found=analyst,
                hint="Without one, only the data set's budget limits them.",
            )
        facts = {"step": step.to_json(), "reason": reason, **self._recorded(analyst)}
        page.append("granted", facts=facts, analyst=analyst, before=before)
        raised = allowance_of(budget, who, replace(own, grants=(*own.grants, step)))
        sentence = (
            f"{analyst} may spend {_limit_text(raised)} of the data set's budget in all; that budget stays as it is, "
            "and so does what is promised."
        )
        promised = overdraft.promised(page.connection, [budget_of(terms) for terms in dataset.levels])
        return Grant(analyst_level(analyst), sentence, promised.epsilon, promised.rho, promised.delta)

    def _recorded(self, analyst: str | None) -> dict[str, Json]:
        """Facts that give a level its first standing, should the analyst never have asked before."""
        return {} if analyst is None else {"recorded": terms_of_analyst(self._analyst(analyst)).to_json()}


def _used_releases(page: Page) -> set[str]:
    return {facts["release"] for kind in ("created", "release") for facts in facts_of_kind(page.connection, kind)}


def _step(value: Number | None, name: str) -> Fraction | None:
    return None if value is None else exact(value, name)


def _check_step(step: Terms, analyst: str | None) -> None:
    amounts = (step.epsilon or Fraction(0), step.delta, step.rho or Fraction(0))
    if min(amounts) < 0 or not any(amounts):
        raise InvalidParameter("grant", expected="something above 0, and nothing below", found=step)
    if max(amounts) > LARGEST or any(one.denominator > DELTA_QUANTUM.denominator for one in amounts):
        # Kept exactly, in every row after it: no number that only a mistake would write.
        raise InvalidParameter("grant", expected="at most a billion, with at most 36 decimals", found=step)
    if analyst is not None and step.delta:
        raise InvalidParameter("delta", expected="no delta for an analyst: it is the data set's", found=step.delta)


def _check_notion(budget: Budget, step: Terms) -> None:
    """A grant is on the meter the budget has: adding rho to an epsilon budget would mean nothing."""
    other = step.epsilon if budget.notion == "zcdp" else step.rho
    if other:
        meter = "rho" if budget.notion == "zcdp" else "epsilon"
        raise InvalidParameter("grant", expected=f"{meter}, as the budget has", found=other)


def _everything(budget: Budget, dataset: Standing) -> Price:
    """The least price after which both meters stand where they could at worst stand now."""
    delta = max(budget.delta_selection - dataset.delta, Fraction(0))
    if budget.epsilon is None:
        return Price(None, max(budget.rho_limit - dataset.rho, Fraction(0)), delta)
    # If the epsilon meter held, all answers together are epsilon-DP, which bounds their rho; if the rho meter did,
    # nothing bounds their epsilon: as after a Gaussian event.
    rho = max(budget.rho_limit, rho_of_pure(budget.epsilon)) - dataset.rho
    pure = max(budget.epsilon - dataset.epsilon, Fraction(0))
    return Price(pure if budget.notion == "pure" else None, max(rho, Fraction(0)), delta)


def _grant_sentence(budget: Budget, promised: Budget) -> str:
    return f"The budget is now {_limit_text(budget)}. Promised over the ledger's whole life: {_limit_text(promised)}."


def _limit_text(budget: Budget | None) -> str:
    if budget is None:
        return "all"
    meter = f"rho {decimal_text(budget.rho or Fraction(0))}"
    if budget.epsilon is not None:
        meter = f"epsilon {decimal_text(budget.epsilon)}"
    return f"{meter}, delta {decimal_text(budget.delta, 30)}" if budget.delta else meter
