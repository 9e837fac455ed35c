"""Twenty-two mechanisms with known answers: parameters, inputs, true epsilon, expected verdict.

Flow: `report` runs the rows; tests hold the auditor to them. Relies on: `builders`, `specimens`, `audit.families`.

Claimed epsilon is 0.1 for most rows, on purpose small: a violation of a small claim is the hard one to see. Parameters
and inputs are those on which DP-Sniper (Bichsel et al. 2021) and StatDP (Ding et al. 2018) published their results, so
that figures can be laid side by side.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dither.audit import families
from dither.audit.catalogue import specimens
from dither.audit.catalogue.builders import (
    BLOOM,
    ONES,
    TWOS_ZEROS,
    Row,
    bits_law,
    laplace_row,
    noisy_max_row,
    sparse_vector_law,
    sparse_vector_pair_law,
    sparse_vector_row,
)
from dither.audit.sampled import Progress, test
from dither.audit.verdicts import Finding
from dither.errors import InvalidParameter

__all__ = ["ROWS", "audit_row", "row"]


def row(name_or_number: str | int) -> Row:
    """Raises InvalidParameter for a row that does not exist."""
    for each in ROWS:
        if name_or_number in (each.name, each.number):
            return each
    raise InvalidParameter("row", expected=f"1 to {len(ROWS)}, or a name", found=name_or_number)


def audit_row(
    entry: Row,
    *,
    budget_calls: int,
    seed: int | None = None,
    confidence: float = 0.95,
    progress: Progress | None = None,
) -> Finding:
    """Sampled audit of a row's claim on its pair."""
    return test(
        entry.sampler,
        entry.inputs,
        claimed=entry.claimed,
        budget_calls=budget_calls,
        confidence=confidence,
        seed=seed,
        progress=progress,
    )


ROWS: tuple[Row, ...] = (
    laplace_row(
        1,
        "Laplace",
        "One answer with Laplace noise of scale 1/epsilon.",
        "10",
        (1.0,),
        claimed=0.1,
        true_epsilon=0.1,
        expected="not_refuted",
        published=0.0976,
    ),
    Row(
        2,
        "TruncatedGeometric",
        "GeoSample with k = ceil(ln(2/epsilon)) = 3 where the theorem needs base two (k = 5): ln(1 + 2^-3) > 0.1.",
        specimens.truncated_geometric(3, 5),
        ((2.0,), (1.0,)),
        0.1,
        math.log(1.125),
        "violated",
        lambda: families.truncated_geometric(3, 5, 2, 1),
        0.1156,
    ),
    laplace_row(
        3,
        "NoisyHist1",
        "Five counts, Laplace noise of scale 1/epsilon; one count moves.",
        "10",
        (1.0, 0.0, 0.0, 0.0, 0.0),
        claimed=0.1,
        true_epsilon=0.1,
        expected="not_refuted",
        published=0.0978,
    ),
    laplace_row(
        4,
        "NoisyHist2",
        "Five counts, Laplace noise of scale epsilon: the parameter upside down.",
        "0.1",
        (1.0, 0.0, 0.0, 0.0, 0.0),
        claimed=0.1,
        true_epsilon=10.0,
        expected="violated",
        published=4.602,
        right=3,
    ),
    noisy_max_row(
        5,
        "ReportNoisyMax1",
        "The index of the largest count, Laplace noise of scale 2/epsilon.",
        "laplace",
        "index",
        (0.0, 2.0, 2.0, 2.0, 2.0),
        true_epsilon=0.1,
        expected="not_refuted",
        published=0.0925,
    ),
    noisy_max_row(
        6,
        "ReportNoisyMax2",
        "The index of the largest count, exponential noise of scale 2/epsilon.",
        "exponential",
        "index",
        (0.0, 2.0, 2.0, 2.0, 2.0),
        true_epsilon=0.1,
        expected="not_refuted",
        published=0.0979,
    ),
    noisy_max_row(
        7,
        "ReportNoisyMax3",
        "As ReportNoisyMax1, but it releases the largest noisy count itself: five times epsilon/2.",
        "laplace",
        "value",
        (2.0,) * 5,
        true_epsilon=0.25,
        expected="violated",
        published=0.2488,
        right=5,
    ),
    noisy_max_row(
        8,
        "ReportNoisyMax4",
        "As ReportNoisyMax2, but it releases the largest noisy count itself: values below 2 give the input away.",
        "exponential",
        "value",
        (2.0,) * 5,
        true_epsilon=math.inf,
        expected="violated",
        published=0.3534,
        right=6,
    ),
    sparse_vector_row(
        9,
        "SVT1",
        "Sparse vector as it should be: threshold noise 2/epsilon, query noise 4c/epsilon, ends after c = 1.",
        threshold=0.5,
        scales=(20.0, 40.0),
        true_epsilon=0.1,
        expected="not_refuted",
        published=0.0858,
    ),
    sparse_vector_row(
        10,
        "SVT2",
        "Sparse vector that redraws its threshold after each success: right, with more noise than needed for c > 1.",
        threshold=1.0,
        scales=(20.0, 40.0),
        redraw=True,
        true_epsilon=0.1,
        expected="not_refuted",
        published=0.0859,
    ),
    sparse_vector_row(
        11,
        "SVT3",
        "Releases the noisy answer that passed: it tells how low the threshold was, for every query before it.",
        threshold=1.0,
        scales=(20.0, 20.0),
        release_value=True,
        pattern=lambda: sparse_vector_law(1.0, 1, (20.0, 20.0), log_ratio=Fraction(1, 2)),
        true_epsilon=math.inf,
        expected="violated",
        published=0.1822,
        right=9,
    ),
    sparse_vector_row(
        12,
        "SVT4",
        "Query noise of scale 4/(3 epsilon), not scaled for two-sided moves: (1 + 6c)/4 times epsilon.",
        threshold=1.0,
        scales=(40.0, 40 / 3),
        true_epsilon=0.175,
        expected="violated",
        published=0.1696,
        right=9,
    ),
    sparse_vector_row(
        13,
        "SVT5",
        "No noise on the queries: two answers that change order show which input it was.",
        threshold=1.0,
        stops=None,
        scales=(20.0, 0.0),
        pattern=lambda: families.threshold_only(20, 1, ONES, TWOS_ZEROS),
        true_epsilon=math.inf,
        expected="violated",
        published=1.761,
        right=9,
    ),
    sparse_vector_row(
        14,
        "SVT6",
        "Never ends, and its query noise is not scaled: each further query adds to the loss.",
        threshold=1.0,
        stops=None,
        scales=(20.0, 20.0),
        true_epsilon=math.inf,
        expected="violated",
        published=0.2720,
        right=9,
    ),
    Row(
        15,
        "RAPPOR",
        "Twenty bits, f = 0.75, p = 0.45, q = 0.55: eight bits differ at most, six for this pair.",
        specimens.randomised_bits(BLOOM, 20, 0.5125, 0.4875),
        ((0.0,), (1.0,)),
        0.4002,
        8 * math.log(0.5125 / 0.4875),
        "not_refuted",
        lambda: bits_law("0.5125", "0.4875"),
        0.3008,
    ),
    Row(
        16,
        "OneTimeRAPPOR",
        "Twenty bits, only the permanent step, f = 0.95.",
        specimens.randomised_bits(BLOOM, 20, 0.525, 0.475),
        ((0.0,), (1.0,)),
        0.8007,
        8 * math.log(0.525 / 0.475),
        "not_refuted",
        lambda: bits_law("0.525", "0.475"),
        0.5999,
    ),
    Row(
        17,
        "LaplaceParallel",
        "One answer released twenty times at epsilon/20 each.",
        specimens.repeated_laplace(200.0, 20),
        ((1.0,), (2.0,)),
        0.1,
        0.1,
        "not_refuted",
        lambda: families.laplace_vector(200, (1,) * 20),
        0.0350,
    ),
    Row(
        18,
        "SVT34Parallel",
        "SVT3 and SVT4 on the same queries, c = 2.",
        specimens.parallel(
            specimens.sparse_vector(threshold=1.0, stops=2, threshold_scale=20.0, query_scale=40.0, release_value=True),
            specimens.sparse_vector(threshold=1.0, stops=2, threshold_scale=40.0, query_scale=40 / 3),
        ),
        (ONES, TWOS_ZEROS),
        0.1,
        math.inf,
        "violated",
        sparse_vector_pair_law,
        0.2616,
        right=9,
    ),
    Row(
        19,
        "PrefixSum",
        "Ten running totals, Laplace noise of scale 1/epsilon on each term; all ten move, ten times the claim.",
        specimens.prefix_sums(10.0),
        (ONES, (0.0,) * 10),
        0.1,
        1.0,
        "violated",
        lambda: families.laplace_vector(10, (1,) * 10),
        0.5774,
    ),
    Row(
        20,
        "NumericalSVT",
        "Sparse vector that answers with fresh noise, a third of epsilon each: right.",
        specimens.numeric_sparse_vector(threshold=1.0, stops=2, epsilon=0.1),
        (ONES, TWOS_ZEROS),
        0.1,
        0.1,
        "not_refuted",
        lambda: sparse_vector_law(1.0, 2, (30.0, 120.0), log_ratio=Fraction(1, 10)),
        0.0345,
    ),
    Row(
        21,
        "FloatingPointLaplace",
        "The Laplace mechanism in double precision: the possible doubles depend on the answer.",
        specimens.laplace_in_floats(10.0),
        ((0.0,), (1.0,)),
        0.1,
        math.inf,
        "violated",
        None,
        0.2521,
        right=1,
    ),
    Row(
        22,
        "Snapping",
        "Mironov's snapping mechanism, bound 100, scale 10 (1 + 100 * 2^-49).",
        specimens.snapped_laplace(10.0 * (1 + 100 * 2.0**-49), 100.0),
        ((0.0,), (1.0,)),
        0.1,
        0.1,
        "not_refuted",
        lambda: families.snapping(10, 100, 0, 1),
        0.0979,
    ),
)
