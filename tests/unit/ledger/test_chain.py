from __future__ import annotations

import hashlib

import pytest

from dither.errors import GuaranteeError
from dither.ledger.chain import GENESIS, canonical, check, receipt_digest, row_hash

COLUMNS = (1, "reserved", "e1", "ada", None, "2026-03-01T12:00:00+00:00", "2026-03-01", "{}")


def test_the_order_of_keys_does_not_matter() -> None:
    assert canonical({"b": 1, "a": [True, None]}) == canonical({"a": [True, None], "b": 1}) == '{"a":[true,null],"b":1}'


@pytest.mark.parametrize("value", [0.5, {"a": 0.5}, [1.0], {1: "a"}, b"bytes", {"a": {1, 2}}])
def test_floats_and_other_unstable_values_never_enter(value: object) -> None:
    with pytest.raises(GuaranteeError):
        check(value)


def test_a_row_hashes_to_the_documented_bytes() -> None:
    text = f'["{GENESIS}",1,"reserved","e1","ada",null,"2026-03-01T12:00:00+00:00","2026-03-01","{{}}"]'
    expected = hashlib.sha256(b"dither ledger row 1\0" + text.encode()).hexdigest()
    assert row_hash(GENESIS, COLUMNS) == expected


@pytest.mark.parametrize("place", range(len(COLUMNS)))
def test_every_column_is_under_the_hash(place: int) -> None:
    changed = [*COLUMNS]
    changed[place] = "changed"
    assert row_hash(GENESIS, changed) != row_hash(GENESIS, COLUMNS)


def test_moving_text_from_one_column_to_the_next_changes_the_hash() -> None:
    assert row_hash(GENESIS, ["ab", "c"]) != row_hash(GENESIS, ["a", "bc"])
    assert row_hash(GENESIS, ['a","b']) != row_hash(GENESIS, ["a", "b"])


def test_a_receipt_digest_needs_the_key() -> None:
    assert receipt_digest(b"k" * 32, "e", "h") != receipt_digest(b"l" * 32, "e", "h")
    assert receipt_digest(b"k" * 32, "e", "h") != receipt_digest(b"k" * 32, "e", "i")
