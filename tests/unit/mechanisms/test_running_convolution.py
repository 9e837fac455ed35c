"""Exact integer convolution against Python integers, and the float transforms beside it."""

import math

import numpy as np
import pytest

from dither.errors import GuaranteeError, InvalidParameter
from dither.mechanisms.running import exact_convolution
from dither.mechanisms.running.exact_convolution import ExactKernel, limbs_for, rounding_bound
from dither.mechanisms.running.square_root import square_root
from dither.mechanisms.running.toeplitz import Filter, fast_length, series_inverse


def kronecker(kernel, values):
    """The causal convolution by one product of two huge Python integers: 128 bits for each place."""
    width = 128
    shifted = [int(v) for v in values]
    offset = max(0, -min(shifted))
    a = int.from_bytes(b"".join(int(k).to_bytes(width // 8, "little") for k in kernel), "little")
    b = int.from_bytes(b"".join((v + offset).to_bytes(width // 8, "little") for v in shifted), "little")
    product = (a * b).to_bytes((2 * len(kernel)) * width // 8, "little")
    places = [
        int.from_bytes(product[i : i + width // 8], "little") for i in range(0, len(kernel) * width // 8, width // 8)
    ]
    below = np.cumsum([int(k) for k in kernel], dtype=object)
    return [place - offset * int(total) for place, total in zip(places, below, strict=True)]


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 100, 1000, 2048, 5000])
@pytest.mark.parametrize("largest", [1, 2**14, 2**27, 2**40])
def test_every_product_is_exact(n, largest):
    kernel = square_root(n)._product.kernel
    if largest * int(kernel.sum()) >= 2**62:
        largest = 2**62 // int(kernel.sum())
    rng = np.random.default_rng(n)
    exact = ExactKernel(kernel)
    for values in (
        rng.integers(-largest, largest + 1, n),
        np.full(n, largest),
        np.full(n, -largest),
        np.where(np.arange(n) % 2 == 0, largest, -largest),
    ):
        assert exact.convolve(values, largest).tolist() == kronecker(kernel, values)


def test_the_worst_values_at_2_to_the_16_are_exact_too():
    n = 1 << 16
    exact = square_root(n)._product
    values = np.full(n, 2**39 - 1)
    assert exact.convolve(values, 2**39).tolist() == ((2**39 - 1) * np.cumsum(exact.kernel)).tolist()


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_limbs_are_as_many_as_the_public_maximum_needs(count):
    reach = sum((2**14 - 1) * 2 ** (15 * i) for i in range(count))
    assert limbs_for(reach) == count and limbs_for(reach + 1) == count + 1


def test_the_error_seen_is_far_below_the_bound_proved():
    n = 1 << 14
    exact = square_root(n)._product
    bound = rounding_bound(int((exact.kernel**2).sum()), n, fast_length(2 * n))
    assert bound < 1 / 4
    limb = np.random.default_rng(1).choice([-(2**14), 2**14 - 1], n)
    spectrum = np.fft.rfft(limb.astype(float), exact._size) * exact._spectrum
    product = np.fft.irfft(spectrum, exact._size)[:n]
    assert np.abs(product - np.rint(product)).max() < bound


def test_a_kernel_whose_products_could_not_be_rounded_is_refused():
    with pytest.raises(InvalidParameter):
        ExactKernel(np.full(1 << 12, 2**24))


def test_a_broken_transform_is_caught(monkeypatch):
    exact = ExactKernel(np.arange(100))
    healthy = np.fft.irfft
    monkeypatch.setattr(exact_convolution.np.fft, "irfft", lambda *a: healthy(*a) + 0.3)
    with pytest.raises(GuaranteeError):
        exact.convolve(np.arange(100), 100)


@pytest.mark.parametrize("least", [1, 2, 3, 5, 8, 9, 11, 97, 1000, 2**20 - 1, 2**20, 2**20 + 1, 2_000_000])
def test_lengths_are_powers_of_two_times_1_3_or_5(least):
    length = fast_length(least)
    odd = length // (length & -length)
    assert odd in (1, 3, 5) and least <= length < max(2 * least, 2)
    shorter = [m * 2**a for m in (1, 3, 5) for a in range(25) if least <= m * 2**a < length]
    assert not [size for size in shorter if size >= 8]


@pytest.mark.parametrize("n", [1, 2, 3, 10, 100, 1000, 4097])
def test_the_inverse_series_undoes_its_series(n):
    series = square_root(n)._product.kernel / 4096
    product = np.convolve(series, series_inverse(series))[:n]
    assert np.abs(product - np.eye(1, n)[0]).max() < 1e-12


def test_filters_are_the_matrix_and_its_transpose():
    rng = np.random.default_rng(2)
    series, values = rng.normal(size=50), rng.normal(size=50)
    matrix = np.array([[series[t - j] if t >= j else 0.0 for j in range(50)] for t in range(50)])
    assert np.allclose(Filter(series).apply(values), matrix @ values)
    assert np.allclose(Filter(series).apply_transposed(values), matrix.T @ values)
    assert math.isclose(Filter(series).apply(np.eye(1, 50)[0])[7], series[7])
