"""Lists of groups are remembered by what they were derived from, and not for ever."""

from __future__ import annotations

import numpy as np
import pytest

from dither.plan import keys
from dither.plan.keys import Domain, KeyLists
from dither.plan.listing import PublicTables
from support.clinic import clinic


def domain(name: int, size: int) -> Domain:
    return Domain({"k0": np.arange(size)}, size, f"list {name}")


def test_a_session_of_many_filters_remembers_few_lists() -> None:
    world = clinic()
    for least in range(3 * keys.MOST_LISTS):
        world.session.plan(f"SELECT age, COUNT(*) FROM t WHERE age > {least} GROUP BY age")
    kept = world.session.facts.key_lists().cache
    assert len(kept) == keys.MOST_LISTS
    # The newest are kept: one of them is found again.
    before = list(kept)
    world.session.plan(f"SELECT age, COUNT(*) FROM t WHERE age > {3 * keys.MOST_LISTS - 1} GROUP BY age")
    assert list(kept) == before
    world.close()


def test_long_lists_make_the_others_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "MOST_LISTED", 100)
    lists = KeyLists(clinic().catalog, PublicTables(lambda _: 0, lambda *_: []), lambda: False)
    for name, size in enumerate((10, 60, 30, 35)):
        lists.remember(domain(name, size))
    assert [found.size for found in lists.cache.values()] == [30, 35]
    lists.remember(domain(9, 1000))
    # The one in use stays, however long.
    assert [found.size for found in lists.cache.values()] == [1000]
