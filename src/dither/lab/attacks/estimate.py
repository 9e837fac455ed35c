"""How many people of a whole population are alone with a combination, judged from a sample of it.

Who holds a sample does not know whether somebody who is alone in it is alone among all. Pitman's partition law says
how classes go on growing; its two numbers are fitted to how many classes of the sample have one person, and two.
Flow: `linkage` estimates from parts of a table, and sets the estimate beside what the whole table says.
Source: Hoshino 2001, "Applying Pitman's sampling formula to microdata disclosure risk assessment".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Estimates", "from_samples", "pitman_unique_share"]

Ints = NDArray[np.int64]


def pitman_unique_share(sample: Ints, population: int) -> float | None:
    """The share of `population` people that are alone with their combination, estimated from a sample of them; None
    where the sample fits no such law (nobody shares with just one other, or all share).
    sample: (n,) one number per person for their combination."""
    _, sizes = np.unique(sample, return_counts=True)
    n, classes = float(len(sample)), float(len(sizes))
    ones, twos = float(np.sum(sizes == 1)), float(np.sum(sizes == 2))
    if not ones or not twos or ones == n:
        return None
    # theta and alpha in closed form, from the expected numbers of classes of one and of two.
    c = ones * (ones - 1) / twos
    below = 2 * ones * classes + ones * c - n * c
    if below == 0:
        return None
    theta = (n * classes * c - ones * (n - 1) * (2 * classes + c)) / below
    alpha = (theta * (ones - n) + (n - 1) * ones) / (n * classes)
    if not (0 <= alpha < 1 and theta > -alpha):
        return None
    # Of a population of N: Gamma(theta + 1)/Gamma(theta + alpha) N^(alpha - 1), for large N.
    return math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha) + (alpha - 1) * math.log(population))


@dataclass(frozen=True)
class Estimates:
    """Over several samples: means, how far one estimate is from their mean (standard deviation), and how many samples
    had an estimate."""

    unique_in_sample: float
    mean: float
    spread: float
    samples: int


def from_samples(combination: Ints, generator: np.random.Generator, *, share: float, samples: int) -> Estimates | None:
    """Estimates from `samples` samples of a `share` of the people each; None where none has one."""
    people = len(combination)
    alone, found = [], []
    for _ in range(samples):
        sample = generator.choice(combination, round(share * people), replace=False)
        estimate = pitman_unique_share(sample, people)
        if estimate is not None:
            _, sizes = np.unique(sample, return_counts=True)
            alone.append(float(np.sum(sizes == 1)) / len(sample))
            found.append(estimate)
    if not found:
        return None
    return Estimates(float(np.mean(alone)), float(np.mean(found)), float(np.std(found)), len(found))
