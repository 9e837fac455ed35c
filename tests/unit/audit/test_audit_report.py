"""What people see: the table, the page, the proof."""

import itertools
import math
import sys
from html.parser import HTMLParser
from io import StringIO

import pytest
from rich.console import Console

from dither import audit
from dither.audit.catalogue import ROWS, row
from dither.audit.page import gain_svg, trade_off_svg
from dither.audit.report import exact_text
from dither.audit.symbolic import Proof, Step, _sign_cases, proofs, prove_discrete_laplace, prove_laplace
from dither.cli import main


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
            if tag not in ("meta", "polyline", "rect", "circle", "br"):
                opened.append(tag)

        def handle_endtag(self, tag):
            if tag not in ("meta", "polyline", "rect", "circle", "br"):
                assert opened.pop() == tag

    Check().feed(text)
    assert not opened
    assert text.count("<svg") == 2 * 3 and "Audit &lt;of&gt; this" in text


def test_a_trade_off_picture_of_a_true_claim_has_its_corner_on_the_diagonal():
    text = trade_off_svg(claimed=math.log(3), delta=0.0, name="x")
    # 1 / (1 + 3) of 220, from the left at 20 and from the bottom at 230.
    assert "75.0,175.0" in text


def test_the_gain_of_a_small_claim_fills_its_picture():
    # epsilon 0.1: the corner is at 1/(1 + e^0.1) = 0.475, its gain 0.05; drawn at the top, y = 10.
    text = gain_svg(claimed=0.1, delta=0.0, name="x")
    assert f"{20 + 220 / (1 + math.exp(0.1)):.1f},10.0" in text and "up to 0.05" in text


def test_the_events_found_are_drawn_as_a_convex_curve(results):
    for each in results:
        points = each.finding.points
        assert points[0][0] == 0.0 and points[-1] == (1.0, 0.0)
        slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in itertools.pairwise(points)]
        assert all(one <= two + 1e-9 for one, two in itertools.pairwise(slopes))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_mechanisms.py").write_text(
        "import numpy as np\n"
        "def too_little(data, n, rng):\n"
        "    return np.sum(data) + np.rint(rng.laplace(scale=0.5, size=n) * 2**20) / 2**20\n"
        "def enough(data, n, rng):\n"
        "    return np.sum(data) + np.rint(rng.laplace(scale=2.0, size=n) * 2**20) / 2**20\n"
        "def fails(data):\n"
        "    raise KeyError('no such column')\n"
        "def leaves(data):\n"
        "    raise SystemExit(3)\n",
        encoding="utf-8",
    )
    (tmp_path / "no_syntax.py").write_text("def (", encoding="utf-8")
    (tmp_path / "no_module.py").write_text("1 / 0", encoding="utf-8")
    yield tmp_path
    sys.modules.pop("own_mechanisms", None)


def test_the_command_audits_a_mechanism_of_the_folder_one_is_in(folder, capsys):
    asked = ["--inputs", "[1, 1]", "[1, 0]", "--claimed", "1", "--calls", "20000", "--seed", "1"]
    assert main(["audit", "--target", "own_mechanisms:too_little", *asked, "--report", "own.html"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("violated: epsilon >= 1.") and "event" in said and "p-value" in said
    text = (folder / "own.html").read_text(encoding="utf-8")
    assert "own_mechanisms:too_little" in text and text.count("<svg") == 2 and "violated" in text
    assert main(["audit", "--target", "own_mechanisms:enough", *asked]) == 0
    assert capsys.readouterr().out.startswith("not_refuted")
    assert "" not in sys.path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--target", "own_mechanisms:nothing"], "no attribute 'nothing'"),
        (["--target", "no_such_module:f"], "No module named"),
        (["--target", "own_mechanisms:enough", "--inputs", "1", "[1"], "two JSON values"),
        (["pipeline", "--target", "own_mechanisms:enough"], "with mechanisms only"),
        (["--full"], "with pipeline only"),
        (["--catalog", "dither.toml"], "with pipeline only"),
        (["--report", "nowhere/audit.html"], "a folder that exists"),
        (["--target", "own_mechanisms:fails", "--calls", "1000"], "KeyError: 'no such column'"),
        (["--target", "own_mechanisms:leaves", "--calls", "1000"], "SystemExit: 3"),
        (["--target", "no_syntax:f"], "SyntaxError"),
        (["--target", "no_module:f"], "ZeroDivisionError"),
    ],
)
def test_the_command_refuses_what_it_would_have_to_ignore(folder, capsys, arguments, said):
    assert main(["audit", *arguments]) == 2
    shown = capsys.readouterr()
    assert said in shown.err and not shown.out


def test_the_command_shows_the_proof(folder, capsys):
    assert main(["audit", "proof", "--report", "proof.html"]) == 0
    assert capsys.readouterr().out.count("Proved.") == 2
    text = (folder / "proof.html").read_text(encoding="utf-8")
    assert text.count("<b>checked</b>") == sum(len(each.steps) for each in proofs()) and "<h1>Audit" not in text


def test_a_proof_that_fails_says_so_on_its_page():
    broken = Proof("a < b", (Step("one", "1 = 2", False),))
    text = audit.page([], proofs=[broken])
    assert "fails" in text and "Not proved." in text and "a &lt; b" in text


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
