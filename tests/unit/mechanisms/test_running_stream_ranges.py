"""What is known of released days beside the newest: their totals again, sums between them, and how sure they are."""

from __future__ import annotations

import math

import pytest

from dither.errors import InvalidParameter
from dither.mechanisms.running import RunningStream
from dither.noise import insecure_seeded


def stream_of(days: int, epochs: int = 1, **offer: object) -> tuple[RunningStream, list[float]]:
    """A stream with all days of its epochs released, and their totals."""
    offer = offer or {"epsilon": 1}
    stream = RunningStream.open(days, neighbours="add_remove", entropy=insecure_seeded(1), **offer)  # type: ignore[arg-type]
    totals = []
    for epoch in range(epochs):
        if epoch:
            stream.extend(days)
        totals += [stream.append(1).total for _ in range(days)]
    return stream, totals


OFFERS = [{"epsilon": 1}, {"rho": "1/2"}, {"rho": "1/2", "memory": 3}]


@pytest.mark.parametrize("offer", OFFERS, ids=str)
def test_a_released_day_is_known_again_as_it_was_released(offer: dict[str, object]) -> None:
    stream, totals = stream_of(13, 2, **offer)
    assert stream.released(25, totals[25], totals[24]) == stream.last
    again, _ = stream_of(13, 1, **offer)
    assert again.last == stream.released(12, totals[12], totals[11])
    assert stream.epoch_days == (13, 13)


@pytest.mark.parametrize("offer", OFFERS, ids=str)
def test_a_range_from_the_first_day_is_as_sure_as_its_total(offer: dict[str, object]) -> None:
    stream, totals = stream_of(13, 2, **offer)
    for day, total in enumerate(totals):
        assert stream.half_width_between(0, day) == pytest.approx(stream.released(day, total).half_width())
        assert stream.half_width(day) == pytest.approx(stream.half_width_between(0, day))


@pytest.mark.parametrize("offer", OFFERS[1:], ids=str)
def test_a_range_over_two_epochs_holds_the_noise_of_both(offer: dict[str, object]) -> None:
    stream, _ = stream_of(13, 2, **offer)
    rounding = sum(stream._moved(day) for day in (7, 17))
    parts = [stream.half_width_between(8, 12), stream.half_width_between(13, 17)]
    parts = [
        part - stream._moved(a) - stream._moved(b) for part, (a, b) in zip(parts, [(12, 7), (17, 12)], strict=True)
    ]
    assert stream.half_width_between(8, 17) - rounding == pytest.approx(math.hypot(*parts), rel=1e-9)


def test_a_range_near_the_end_is_surer_than_two_totals() -> None:
    stream, _ = stream_of(100)
    assert stream.half_width_between(95, 99) < stream.half_width(99)


@pytest.mark.parametrize(("first", "last"), [(-1, 2), (3, 2), (0, 13)])
def test_a_range_of_days_not_released_is_refused(first: int, last: int) -> None:
    stream, _ = stream_of(13)
    with pytest.raises(InvalidParameter):
        stream.half_width_between(first, last)
    with pytest.raises(InvalidParameter):
        stream.released(13, 0.0)
