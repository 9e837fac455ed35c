"""Exact integer noise: discrete Laplace, discrete Gaussian, geometric, exact coins, choices and uniform integers.

Every draw has exactly the stated law: no floating-point number decides an outcome (Mironov 2012 shows what happens
otherwise). Bytes come from the system's generator; `entropy=` injects another source, for tests and papers.

    laplace, gaussian, geometric     laws and their draws
    uniform, categorical             uniform integers, coins exp(-x), the exponential mechanism's choice
    lazy, split, draw                how a draw is made; `gaussian_sums`, `interval`, `bounds`: certified numbers
    entropy                          where bytes come from
"""

from dither.noise.bounds import exp_bounds, exp_neg, log_bounds, pi_bounds, sqrt_bounds, tanh_bounds
from dither.noise.categorical import categorical_exp, categorical_exp_by_group
from dither.noise.entropy import ByteTape, Entropy, SystemEntropy, insecure_seeded, system_entropy
from dither.noise.gaussian import DiscreteGaussian, discrete_gaussian
from dither.noise.geometric import geometric
from dither.noise.laplace import DiscreteLaplace, discrete_laplace
from dither.noise.uniform import bernoulli_exp, uniform_below

__all__ = [
    "discrete_laplace",
    "discrete_gaussian",
    "geometric",
    "bernoulli_exp",
    "uniform_below",
    "categorical_exp",
    "categorical_exp_by_group",
    "DiscreteLaplace",
    "DiscreteGaussian",
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
