"""Sketches show the exact law: bars add up, are symmetric, and hold what they say."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from fractions import Fraction

import pytest

from dither.noise import DiscreteGaussian, DiscreteLaplace
from dither.plan.sketch import sketch
from support.clinic import clinic
from support.worlds import World

LAWS = [DiscreteLaplace("0.1"), DiscreteLaplace(3), DiscreteLaplace(10**9), DiscreteGaussian("0.2"),
        DiscreteGaussian(50), DiscreteGaussian(Fraction(10**14, 3))]  # fmt: skip


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = clinic()
    yield found
    found.close()


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_bars_are_shares_of_the_exact_law(law: DiscreteLaplace | DiscreteGaussian) -> None:
    drawn = sketch("n", "noise", law, 1.0)
    assert drawn.shares == drawn.shares[::-1] and len(drawn.shares) % 2 == 1 and len(drawn.shares) <= 45
    assert 0.995 <= sum(drawn.shares) <= 1
    assert max(drawn.shares) == drawn.shares[len(drawn.shares) // 2]
    if drawn.width == 1:
        middle = len(drawn.shares) // 2
        for bar, share in enumerate(drawn.shares):
            low, high = law.pmf_bounds(bar - middle)
            assert float(low) - 1e-12 <= share <= float(high) + 1e-12


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_what_is_said_is_true(law: DiscreteLaplace | DiscreteGaussian) -> None:
    drawn = sketch("n", "noise", law, 0.25)
    for within, share in ((drawn.half, 0.5), (drawn.half_width, 0.95), (drawn.reach, 0.995)):
        assert law.coverage(int(within * 4)) >= share


def test_the_picture_stands_alone_and_escapes(world: World) -> None:
    drawn = sketch('a < "b" & c', "Laplace 3", DiscreteLaplace(3), 1.0)
    for text in (drawn.svg, world.session.explain("SELECT COUNT(*), SUM(age) FROM t", epsilon=1).plot().stacked()):
        ElementTree.fromstring(text)
        assert "href" not in text and "<script" not in text
    assert "&lt; &quot;b&quot; &amp; c" in drawn.svg


def test_the_terminal_shows_the_middle_highest(world: World) -> None:
    text = str(world.session.explain("SELECT region, COUNT(*) AS n FROM t GROUP BY region", epsilon=1).plot())
    first, *rows = text.splitlines()
    assert first == "COUNT(*) by region: Laplace 12"
    assert rows[0].strip() == "█" or rows[0].strip().strip("▁▂▃▄▅▆▇█") == ""
    assert "-36" in text and "+36" in text and "truth" in text and "95 % within 36" in text


def test_what_has_no_one_picture_gets_a_sentence(world: World) -> None:
    plot = world.session.explain("SELECT MEDIAN(age) AS m FROM t", epsilon=1).plot()
    assert not plot.pictures and "rank" in str(plot) and "rank" in plot._repr_html_()
    running = "SELECT d, SUM(COUNT(*)) OVER (ORDER BY d) AS c FROM t GROUP BY d"
    assert "differs from place to place" in str(world.session.explain(running, epsilon=1).plot())
    world.session.ask("SELECT COUNT(*) AS n FROM o", epsilon=1)
    assert "released before" in str(world.session.explain("SELECT COUNT(*) AS n FROM o", epsilon=1).plot())
