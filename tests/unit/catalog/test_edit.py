"""Changing a section of a catalog changes those keys and no other byte, or nothing at all."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.catalog.edit import toml_number, with_keys, write_text
from dither.errors import CatalogError
from dither.exact import exact

TEXT = """\
# A catalog.
[dataset]
name = "a"   # [budget]

[budget]
# The board's own remark.
epsilon = 3.0  # agreed in May
delta = 1e-9
default_epsilon = 0.1

[tables.t]
note = '''
[budget]
epsilon = 7
'''
"""
NEW = {"epsilon": "1.5", "delta": None, "rho": None}


def changed(text: str, entries: dict[str, str | None] = NEW, section: str = "budget") -> str:
    return with_keys(text, section, entries, ["because."], "x.toml")


def test_only_the_keys_change_and_old_remarks_are_kept_as_old() -> None:
    assert changed(TEXT) == TEXT.replace("[budget]\n# The", "[budget]\n# why: because.\n# The", 1).replace(
        "epsilon = 3.0  # agreed in May\ndelta = 1e-9\n",
        "# before: epsilon = 3.0  # agreed in May\nepsilon = 1.5\n",
    )


def test_changing_again_replaces_the_reasons() -> None:
    once = changed(TEXT)
    again = with_keys(once, "budget", NEW, ["of something else."], "x.toml")
    assert again == once.replace("because.", "of something else.")


def test_a_section_that_is_missing_is_added_at_the_end() -> None:
    for text in ('[unit]\nname = "a"', '[unit]\nname = "a"\n', ""):
        found = changed(text)
        assert found.endswith("\n[budget]\n# why: because.\nepsilon = 1.5\n")
        assert found.startswith(text)


def test_line_ends_of_the_file_stay() -> None:
    crlf = TEXT.replace("\n", "\r\n")
    found = changed(crlf)
    assert found.replace("\r\n", "\n") == changed(TEXT)
    assert "\n" not in found.replace("\r\n", "")


@pytest.mark.parametrize(
    "text",
    [
        "budget = { epsilon = 3 }\n",
        "budget.epsilon = 3\n",
        "[dataset]\nname = '''\n[budget]\n'''\n[unit]\nname = 'a'\n[budget.more]\nx = 1\n",
        "[budget]\nepsilon = [\n1,\n2]\n",
        "x = '''\n[budget]\n'''\n",
    ],
)
def test_a_budget_written_in_another_way_is_refused_with_what_to_write(text: str) -> None:
    tomllib.loads(text)
    with pytest.raises(CatalogError) as refused:
        changed(text)
    assert refused.value.code == "C-182" and "epsilon = 1.5" in (refused.value.hint or "")


@given(st.text(alphabet=st.sampled_from("[]budgetepsilon=#\"'\n\r .1\u2028\x0b"), max_size=60))
def test_whatever_the_text_nothing_else_changes(noise: str) -> None:
    text = f"{noise}\n[budget]\nepsilon = 3\n[tables]\n"
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    try:
        after = tomllib.loads(changed(text))
    except CatalogError:
        return
    assert after.pop("budget") == {"epsilon": 1.5}
    before.pop("budget")
    assert after == before


@pytest.mark.parametrize("value", ["1e-9", "0.5", "3", "0.0000000003", "1e-4", "12.345678", "1e-30"])
def test_numbers_read_back_exactly(value: str) -> None:
    assert exact(toml_number(exact(value))) == exact(value)


def test_a_file_is_replaced_whole_and_keeps_its_mode_and_place(tmp_path: Path) -> None:
    real, link = tmp_path / "real.toml", tmp_path / "dither.toml"
    real.write_text(TEXT, encoding="utf-8")
    real.chmod(0o640)
    link.symlink_to(real)
    write_text(link, TEXT, "new\r\n")
    assert real.read_bytes() == b"new\r\n" and link.is_symlink() and real.stat().st_mode & 0o777 == 0o640
    with pytest.raises(CatalogError, match="changed meanwhile"):
        write_text(link, TEXT, "newer")
    assert real.read_bytes() == b"new\r\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dither.toml", "real.toml"]
