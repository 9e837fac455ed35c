"""The RAND Health Insurance Experiment that Dither ships, and the catalog most tests of commands put over it."""

from __future__ import annotations

from pathlib import Path

import dither

__all__ = ["DATA", "health_catalog"]

DATA = Path(dither.__file__).parent / "data" / "randhie.parquet"


def health_catalog(*, name: str = "health", budget: str = "epsilon = 2", sections: str = "", columns: str = "") -> str:
    """The table `care` with the person as unit. budget, columns: lines of these sections; sections: whole ones."""
    return (
        f'[dataset]\nname = "{name}"\n[source]\nurl = "randhie.parquet"\n[unit]\nname = "person"\n[budget]\n{budget}\n'
        f'{sections}[tables.care]\nprivacy_unit = "person"\nmax_rows_per_unit = 5\n'
        + (f"[tables.care.columns]\n{columns}\n" if columns else "")
    )
