"""Exact integer noise: discrete Laplace, discrete Gaussian, geometric, exact coins, choices and uniform integers.

Every draw has exactly the stated law: no floating-point number decides an outcome (Mironov 2012 shows what happens
otherwise). Bytes come from the system's generator; `entropy=` injects another source, for tests and papers.

    >>> from dither.noise import *
    >>> discrete_laplace(10, 5, entropy=insecure_seeded(1))       # scale 10: Pr(k) proportional to exp(-|k|/10)
    array([-10,   4,   0,  -7, -19])
    >>> DiscreteGaussian(100).half_width(0.95)                    # |noise| is at most this with at least 95 %
    20

    laplace, gaussian, geometric, planar     laws and their draws
    uniform, categorical             uniform integers, coins exp(-x), the exponential mechanism's choice
    lazy, split, draw                how a draw is made; `gaussian_sums`, `interval`, `bounds`: certified numbers
    entropy                          where bytes come from
"""

from dither.noise.bounds import exp_bounds, exp_neg, log_bounds, pi_bounds, sqrt_bounds, tanh_bounds
from dither.noise.categorical import bernoulli_exp_each, categorical_exp, categorical_exp_by_group
from dither.noise.entropy import ByteTape, Entropy, SystemEntropy, insecure_seeded, system_entropy
from dither.noise.gaussian import DiscreteGaussian, discrete_gaussian
from dither.noise.geometric import geometric
from dither.noise.laplace import DiscreteLaplace, discrete_laplace
from dither.noise.planar import DiscretePlanar
from dither.noise.uniform import bernoulli_exp, uniform_below, uniform_below_each

__all__ = [
    "discrete_laplace",
    "discrete_gaussian",
    "geometric",
    "bernoulli_exp",
    "uniform_below",
    "uniform_below_each",
    "bernoulli_exp_each",
    "categorical_exp",
    "categorical_exp_by_group",
    "DiscreteLaplace",
    "DiscreteGaussian",
    "DiscretePlanar",
    "Entropy",
    "SystemEntropy",
    "ByteTape",
    "system_entropy",
    "insecure_seeded",
    "exp_neg",
    "exp_bounds",
    "log_bounds",
    "tanh_bounds",
    "sqrt_bounds",
    "pi_bounds",
]
