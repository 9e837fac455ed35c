"""`dither explain`: what a question would measure, how much noise it would get, what it would cost. Free."""

from __future__ import annotations

from dither.cli.options import DEFAULT_CATALOG, As, CatalogPath, Epsilon, Question, Rho, Within

__all__ = ["explain"]


def explain(
    question: Question,
    epsilon: Epsilon = None,
    rho: Rho = None,
    within: Within = None,
    as_name: As = None,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Say what a question would cost and how accurate it would be. Free; reads no protected row."""
    from dither.cli.context import asking, read_catalog, read_offer, read_question

    declared = read_catalog(catalog)
    text = read_question(question)
    read_offer(text, declared, epsilon=epsilon, rho=rho, within=within)
    with asking(declared, as_name) as session:
        explanation = session.explain(text, epsilon=epsilon, rho=rho, within=within)

    from dither.cli.screen import out
    from dither.cli.tables import explanation_table

    out().print(explanation_table(explanation))
