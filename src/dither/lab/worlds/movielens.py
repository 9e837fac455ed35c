"""Film ratings of real people, from a file the user has: MovieLens, in one of three formats.

    u.data          viewer, film, stars, second: separated by tabs, no heading (MovieLens 100K by GroupLens)
    ratings.csv     userId,movieId,rating,timestamp (the later sets by GroupLens)
    *.inter         user_id:token, item_id:token, rating:float, timestamp:float: separated by tabs (RecBole)

The lab ships no row of them: GroupLens gives MovieLens for research, and 100K may not be passed on.
Flow: `dither lab A10 --data u.data`; `scoreboard` looks for viewers among the ratings.
Source: Harper, Konstan 2015, "The MovieLens datasets: history and context".
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dither.lab.worlds.given import lines_of, wrong
from dither.lab.worlds.ratings import Ratings

__all__ = ["LEAST_RATED", "LEAST_VIEWERS", "may_be_sought", "read"]

LEAST_RATED, LEAST_VIEWERS = 8, 20
"""Ratings of a viewer who can be looked for; and how many such viewers there must be."""
_MOST_CELLS = 30_000_000
_MOST_RATINGS = 2_000_000
_DAY = 86_400
_NAMES = ("userid", "movieid", "rating", "timestamp")
_RECBOLE = ("user_id:token", "item_id:token", "rating:float", "timestamp:float")
_PLAIN: tuple[int, ...] = (0, 1, 2, 3)
_EXPECTED = "ratings of MovieLens: u.data, ratings.csv, or a RecBole .inter file"
_SMALLER = "a set of the size of MovieLens 100K or latest-small"


def read(path: Path) -> Ratings:
    """Raises InvalidParameter, with the number of the first line that does not fit."""
    viewers: dict[str, int] = {}
    films: dict[str, int] = {}
    found: dict[tuple[int, int], tuple[float, int]] = {}
    separator, order = "\t", _PLAIN
    for position, (number, line) in enumerate(lines_of(path, _EXPECTED)):
        if position == 0:
            separator, order, is_heading = _format(line)
            if is_heading:
                continue
        fields = [field.strip() for field in line.split(separator)]
        try:
            viewer, film, stars, second = (fields[i] for i in order)
            rating, moment = float(stars), int(float(second))
        except (IndexError, ValueError, OverflowError):
            raise wrong(path, _EXPECTED, line=number) from None
        # Whole and half stars from a half to five; written so that NaN does not pass.
        if not (0.5 <= rating <= 5 and rating * 2 == int(rating * 2) and 0 <= moment < 2**40 and viewer and film):
            raise wrong(path, _EXPECTED, line=number)
        place = (viewers.setdefault(viewer, len(viewers)), films.setdefault(film, len(films)))
        if place in found:
            raise wrong(path, "one rating of a film by a viewer", line=number)
        found[place] = (rating, moment)
        if len(found) > _MOST_RATINGS:
            raise wrong(path, _SMALLER, f" with more than {_MOST_RATINGS:,} ratings")
    if len(viewers) * len(films) > _MOST_CELLS:
        raise wrong(path, _SMALLER, f" with {len(viewers):,} viewers and {len(films):,} films")
    return _checked(path, _dense(found, len(viewers), len(films)))


def _format(first: str) -> tuple[str, tuple[int, ...], bool]:
    """(separator, where viewer, film, stars and second stand, whether the first line is a heading)."""
    for separator, names in ((",", _NAMES), ("\t", _RECBOLE)):
        heads = [head.strip().lower() for head in first.split(separator)]
        if all(name in heads for name in names):
            return separator, tuple(heads.index(name) for name in names), True
    return "\t", _PLAIN, False


def _dense(found: dict[tuple[int, int], tuple[float, int]], viewers: int, films: int) -> Ratings:
    stars = np.zeros((viewers, films), dtype=np.float32)
    day = np.zeros((viewers, films), dtype=np.int32)
    if found:
        places = np.array(list(found))
        values = np.array(list(found.values()))
        stars[places[:, 0], places[:, 1]] = values[:, 0]
        day[places[:, 0], places[:, 1]] = (values[:, 1] - values[:, 1].min()) // _DAY
    return Ratings(stars, day)


def _checked(path: Path, world: Ratings) -> Ratings:
    able = len(may_be_sought(world))
    if able < LEAST_VIEWERS:
        raise wrong(
            path, f"at least {LEAST_VIEWERS} viewers with {LEAST_RATED} ratings each, and as many films not rated",
            f" with {able} such viewers",
        )  # fmt: skip
    return world


def may_be_sought(world: Ratings) -> NDArray[np.intp]:
    """Viewers with enough films rated, for what is remembered rightly, and enough not rated, for what is not."""
    rated = np.sum(world.stars > 0, axis=1)
    return np.flatnonzero((rated >= LEAST_RATED) & (rated <= world.stars.shape[1] - LEAST_RATED))
