"""A catalog from arguments equals the one a file would give, and bad arguments are named."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.catalog.arguments import from_arguments
from dither.catalog.model import BudgetTerms, Column, ColumnUnit, RowUnit
from dither.catalog.schema import SchemaColumn, SchemaTable
from dither.errors import InvalidParameter

PEOPLE = SchemaTable(
    "people",
    [
        SchemaColumn("Patient_ID", "BIGINT"),
        SchemaColumn("age", "INTEGER"),
        SchemaColumn("weight", "DOUBLE"),
        SchemaColumn("bill", "DECIMAL(10,2)"),
        SchemaColumn("sex", "VARCHAR"),
        SchemaColumn("tags", "VARCHAR[]"),
    ],
)


def test_every_column_of_a_known_type_is_visible() -> None:
    catalog = from_arguments(
        PEOPLE,
        privacy_unit="patient_id",
        budget=0.1,
        delta=1e-9,
        bounds={"AGE": (np.int64(0), 110), "weight": (0.1, Decimal("300"))},
        values={"sex": ["F", "M"]},
        max_rows_per_unit=3,
    )
    assert (catalog.name, catalog.unit_name, catalog.source, catalog.ledger) == ("people", "patient", "", "")
    assert catalog.budget == BudgetTerms(epsilon=Fraction(1, 10), delta=Fraction(1, 10**9))
    people = catalog.tables["people"]
    assert (people.unit, people.max_rows_per_unit) == (ColumnUnit("Patient_ID"), 3)
    assert list(people.columns.values()) == [
        Column("Patient_ID", "integer"),
        Column("age", "integer", (0, 110)),
        Column("weight", "double", (Fraction(1, 10), Fraction(300))),
        Column("bill", "decimal", scale=2),
        Column("sex", "text", values=("F", "M")),
    ]


def test_rows_may_be_their_own_units() -> None:
    catalog = from_arguments(PEOPLE, privacy_unit="row", budget={"rho": "1/3", "gaussian": True})
    assert (catalog.tables["people"].unit, catalog.unit_name) == (RowUnit(), "row")
    assert catalog.budget == BudgetTerms(rho=Fraction(1, 3), gaussian=True)


@pytest.mark.parametrize(
    ("arguments", "name", "expected"),
    [
        ({"privacy_unit": None}, "privacy_unit", 'the column that identifies a person, or "row"'),
        ({"privacy_unit": "patient"}, "privacy_unit", "a column of people"),
        ({"budget": None}, "budget", "an epsilon"),
        ({"budget": True}, "budget", "an epsilon"),
        ({"budget": 0}, "epsilon", "above 0"),
        ({"budget": float("nan")}, "epsilon", "above 0"),
        ({"budget": "much"}, "epsilon", "above 0"),
        ({"budget": {}}, "epsilon", "exactly one"),
        ({"budget": {1: 2}}, "budget", "keyed by"),
        ({"budget": {"epsilom": 1}}, "epsilom", "`epsilon`"),
        ({"delta": 2}, "delta", "from 0 to below 1"),
        ({"budget": {"epsilon": 1, "delta": 0}, "delta": 0}, "delta", "given once"),
        ({"bounds": [0, 1]}, "bounds", "a dict by column"),
        ({"bounds": {"agee": (0, 1)}}, "bounds", "keyed by columns of people"),
        ({"bounds": {"age": (1, 0)}}, "bounds['age']", "the low bound first"),
        ({"bounds": {"age": (0, 1.5)}}, "bounds['age'][1]", "a whole number"),
        ({"bounds": {"weight": (0, float("inf"))}}, "bounds['weight'][1]", "a number"),
        ({"bounds": {"bill": (0, 0.005)}}, "bounds['bill'][1]", "2 digits"),
        ({"bounds": {"sex": ("A", "Z")}}, "bounds['sex']", "no bounds"),
        ({"bounds": {"tags": (0, 1)}}, "bounds['tags']", "questions can see"),
        ({"values": {"sex": []}}, "values['sex']", "a list of values"),
        ({"values": {"sex": ["F", "F"]}}, "values['sex'][1]", "once"),
        ({"neighbours": "swap"}, "neighbours", '"add_remove" or "replace"'),
        ({"max_rows_per_unit": 0}, "max_rows_per_unit", "from 1"),
        ({"privacy_unit": "row", "max_rows_per_unit": 2}, "max_rows_per_unit", "None where each row"),
    ],
)
def test_a_bad_argument_is_named_with_what_was_expected(arguments: dict[str, Any], name: str, expected: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        from_arguments(PEOPLE, **{"privacy_unit": "patient_id", "budget": 1.0, **arguments})
    assert caught.value.name == name
    assert expected in caught.value.expected


def test_a_missing_budget_says_how_to_write_one() -> None:
    with pytest.raises(InvalidParameter, match=r"budget must be an epsilon.*found None") as caught:
        from_arguments(PEOPLE, privacy_unit="row", budget=None)
    assert "budget=1.0" in (caught.value.hint or "")
