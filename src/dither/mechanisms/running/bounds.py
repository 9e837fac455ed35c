"""What no linear mechanism can beat: lower bounds on the variance of running totals, and the classic mechanisms beside.

Flow: reasons, tests and benchmarks compare with these; a computed variance below a bound is a bug.
Unit: squared counts, for Gaussian noise at rho = 1/2 (mu = 1) and one row per unit; divide by 2 rho. Laplace noise at
epsilon = 1 has at least twice as much: its L1 distance is at least the L2 distance, its variance 2 b^2.
Sources: Mathias 1993 (largest variance); nuclear norm bound, Henzinger, Upadhyay and Upadhyay 2023 (mean).
"""

from __future__ import annotations

import numpy as np

__all__ = ["binary_tree_largest_variance", "least_largest_variance", "least_mean_variance"]


def least_mean_variance(n: int) -> float:
    """(sum of the singular values of the running total / n)^2, the singular values being
    1 / (2 sin((2j-1) pi / (4n+2)))."""
    angles = (2 * np.arange(1, n + 1) - 1) * (np.pi / (4 * n + 2))
    return float((1.0 / (2.0 * np.sin(angles))).sum() / n) ** 2


def least_largest_variance(n: int) -> float:
    """The larger of Mathias' bound and the mean's: the largest variance is at least the mean."""
    cosecants = 1.0 / np.sin((2 * np.arange(1, n + 1) - 1) * (np.pi / (2 * n)))
    mathias = ((0.5 + 0.5 / n) * float(cosecants.sum()) / n) ** 2
    return max(mathias, least_mean_variance(n))


def binary_tree_largest_variance(n: int, *, pure: bool) -> int:
    """The binary tree others use, L = bits of n levels: at mu = 1, or at epsilon = 1."""
    levels = n.bit_length()
    most = max(n.bit_count(), levels - 1)
    return 2 * levels**2 * most if pure else levels * most
