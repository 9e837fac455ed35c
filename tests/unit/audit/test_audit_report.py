"""What people see: the table, the page, the proof."""

import math
from html.parser import HTMLParser
from io import StringIO

import pytest
from rich.console import Console

from dither import audit
from dither.audit.catalogue import ROWS, row
from dither.audit.page import trade_off_svg
from dither.audit.report import exact_text
from dither.audit.symbolic import Proof, Step, _sign_cases, prove_discrete_laplace, prove_laplace


@pytest.fixture(scope="module")
def results():
    quiet = Console(file=StringIO())
    return audit.run([row(1), row("SVT5"), row("FloatingPointLaplace")], budget_calls=20_000, seed=1, console=quiet)


def test_the_catalogue_numbers_its_rows_and_points_wrong_ones_at_right_ones():
    assert [each.number for each in ROWS] == list(range(1, 23))
    for each in ROWS:
        if each.right is not None:
            assert each.expected == "violated"
            assert row(each.right).expected == "not_refuted"
    must_not_be_flagged = {1, 3, 5, 6, 9, 10, 17, 20, 22}
    assert must_not_be_flagged <= {each.number for each in ROWS if each.expected == "not_refuted"}


def test_the_table_says_the_expected_verdicts(results):
    out = StringIO()
    Console(file=out, width=200).print(audit.table(results))
    text = out.getvalue()
    assert "SVT5" in text and "infinite" in text and "not refuted" in text
    assert "(violated)" not in text and "(not refuted)" not in text
    assert [each.as_expected for each in results] == [True] * 3


def test_the_page_is_whole_and_loads_nothing(results):
    text = audit.page(results, title="Audit <of> this")
    opened = []

    class Check(HTMLParser):
        def handle_starttag(self, tag, attributes):
            assert tag != "script" and not {"src", "href"} & dict(attributes).keys()
            if tag not in ("meta", "polyline", "rect", "br"):
                opened.append(tag)

        def handle_endtag(self, tag):
            if tag not in ("meta", "polyline", "rect", "br"):
                assert opened.pop() == tag

    Check().feed(text)
    assert not opened
    assert text.count("<svg") == 3 and "Audit &lt;of&gt; this" in text


def test_a_trade_off_picture_of_a_true_claim_has_its_corner_on_the_diagonal():
    text = trade_off_svg(claimed=math.log(3), delta=0.0, name="x")
    # 1 / (1 + 3) of 220, from the left at 20 and from the bottom at 230.
    assert "75.0,175.0" in text


def test_narrow_enclosures_show_as_one_number():
    assert exact_text((0.1, 0.1 + 1e-9)) == "0.1"
    assert exact_text((0.1, 0.2)) == "0.1 to 0.2"
    assert exact_text((math.inf, math.inf)) == "infinite"
    assert exact_text((0.3, math.inf)) == "0.3 to infinite"
    assert exact_text(None) == "-"


def test_the_proofs_hold_and_show_their_subscripts_and_products():
    proof = prove_laplace(2)
    assert proof.holds and len(proof.steps) == 6
    text = str(proof)
    assert "x₂ - z₂" in text and "4*A*B" in text and text.endswith("Proved.")
    assert prove_discrete_laplace().holds


def test_a_step_that_fails_is_not_called_proved():
    broken = Proof("claim", (Step("one", "1 = 1", True), Step("two", "1 = 2", False)))
    assert not broken.holds
    assert "[FAILS]" in str(broken) and str(broken).endswith("Not proved.")


def test_the_sign_cases_would_notice_a_wrong_inequality():
    import sympy

    holds, text = _sign_cases(sympy)
    assert holds and text.count("\n") == 3
