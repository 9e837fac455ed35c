"""The library says of every public name what it is, in which units, what it refuses and where it comes from.

Read off signatures, source and docstrings of `mechanisms`, `accounting`, `noise` and `differences`: a name added
without its words fails here. What it says is for reviewers to judge; that it says it is not.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import subprocess
import sys
from typing import Any

import pytest

PACKAGES = ("mechanisms", "mechanisms.planar", "accounting", "noise", "differences")
NUMBERS_WITH_UNITS = frozenset(
    {
        "epsilon",
        "delta",
        "rho",
        "gamma",
        "scale",
        "variance",
        "sensitivity",
        "sensitivity_squared",
        "bounds",
        "distance",
    }
)
ARRAYS = re.compile(r"NDArray|Integers|Values|Floats|\bInts\b")
# Words that give an array's extent: a shape in brackets, "array of any shape", one entry per something.
SHAPES = re.compile(
    r"\([a-z_0-9 +*()]+,\s*[a-z_0-9]*\)|shape|one (?:per|for each)|per key|a bool array|array of `size`"
)
# Types and constants: what they are is said where they are defined, in the module they come from.
ALIASES = {"Neighbours", "Notion", "Event", "NeighbouringRelation", "ADD_REMOVE", "REPLACE"}


def public() -> list[tuple[str, str, Any]]:
    found = []
    for package in PACKAGES:
        module = importlib.import_module(f"dither.{package}")
        found += [(package, name, getattr(module, name)) for name in module.__all__ if name not in ALIASES]
    return found


FUNCTIONS = [(package, name, found) for package, name, found in public() if inspect.isfunction(inspect.unwrap(found))]


def named(value: Any) -> str:
    """Part of a test's name; an object's own text holds its address, which differs from process to process."""
    return value if isinstance(value, str) else "it"


EVERY = pytest.mark.parametrize(("package", "name", "found"), public(), ids=named)
FUNCTION = pytest.mark.parametrize(("package", "name", "found"), FUNCTIONS, ids=named)


def words(found: Any) -> str:
    """Its docstring, and where it is a class that of its constructor and fields."""
    return inspect.getdoc(inspect.unwrap(found)) or ""


def where(found: Any) -> str:
    """Docstrings that speak for it: its own and its module's."""
    module = sys.modules[inspect.unwrap(found).__module__]
    return f"{words(found)}\n{module.__doc__}"


@EVERY
def test_every_name_says_what_it_is(package: str, name: str, found: Any) -> None:
    if not (inspect.isclass(found) or callable(found)):
        # A value of a class that says what it is, such as the operators of differences.
        found = type(found)
    text = words(found)
    assert len(text) > 20, "no docstring"
    assert not text.startswith(f"{name}("), "the docstring is the one dataclasses write"


@FUNCTION
def test_numbers_with_units_are_spoken_of(package: str, name: str, found: Any) -> None:
    parameters = inspect.signature(found).parameters
    text = words(found)
    # "As `laplace`" hands on to the words of another.
    missing = [n for n in parameters if n in NUMBERS_WITH_UNITS and n not in text and not re.search(r"\b[Aa]s `", text)]
    assert not missing


@FUNCTION
def test_what_it_refuses_is_said(package: str, name: str, found: Any) -> None:
    source = inspect.getsource(inspect.unwrap(found))
    if re.search(r"raise \w*InvalidParameter|raise GuaranteeError", source):
        assert re.search(r"\bRaises\b|\braises\b", words(found)), "it raises, and does not say so"


@FUNCTION
def test_arrays_have_a_shape(package: str, name: str, found: Any) -> None:
    signature = inspect.signature(found)
    annotated = [str(parameter.annotation) for parameter in signature.parameters.values()]
    if any(ARRAYS.search(text) for text in annotated):
        assert SHAPES.search(words(found)), "an array comes in, and its shape is not said"


@pytest.mark.parametrize(
    ("package", "name", "found"),
    [one for one in FUNCTIONS if one[0] == "mechanisms"],
    ids=named,
)
def test_a_mechanism_names_its_source_or_its_proof(package: str, name: str, found: Any) -> None:
    assert re.search(r"Sources?:|Proofs?:|Statement:|adds no noise", where(found))


@pytest.mark.parametrize("package", PACKAGES)
def test_the_first_example_of_each_package_runs(package: str) -> None:
    module = importlib.import_module(f"dither.{package}")
    outcome = doctest.testmod(module)
    assert outcome.attempted >= 3 and not outcome.failed


@pytest.mark.parametrize("package", PACKAGES)
def test_the_library_loads_no_database_and_no_heavy_library(package: str) -> None:
    code = (
        f"import sys, dither.{package}; "
        "heavy = {'duckdb', 'sqlite3', 'scipy', 'pandas', 'polars', 'pyarrow', 'typer', 'rich'}; "
        "ours = {f'dither.{name}' for name in ('sql', 'plan', 'engines', 'ledger', 'catalog', 'session', 'answer')}; "
        "sys.exit(', '.join(sorted((heavy | ours) & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
