"""What the documents show works: code blocks run, the two READMEs agree, links lead somewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dither

ROOT = Path(__file__).parents[2]
DATA = Path(dither.__file__).parent / "data" / "randhie.parquet"
PAGES = [
    "README.md",
    "README.zh-CN.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/how-to/first-question.md",
    "docs/how-to/let-a-class-attack.md",
    "docs/explanation/attacks.md",
    "docs/explanation/guarantee.md",
    "docs/explanation/known-limits.md",
    "docs/explanation/intervals.md",
    "docs/how-to/perturb-places.md",
    "docs/how-to/present-and-publish.md",
    "docs/reference/offers.md",
    "docs/reference/places.md",
]


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_the_python_of_the_readme_runs_and_is_short(tmp_path: Path) -> None:
    (code,) = blocks("README.md", "python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert "±" in done.stdout and "\n0\n" in done.stdout


def test_the_shell_of_the_readme_runs_with_the_catalog_of_the_guide(tmp_path: Path) -> None:
    (script,) = blocks("README.md", "sh")
    (catalog,) = blocks("docs/how-to/first-question.md", "toml")
    shutil.copy(DATA, tmp_path / "visits.parquet")
    first, rest = script.split("\n", 1)
    runner = f'dither() {{ "{sys.executable}" -m dither "$@"; }}\nset -e\n'
    for part in (first, rest):
        subprocess.run(["sh", "-c", runner + part], cwd=tmp_path, capture_output=True, timeout=120, check=True)
        # Between `init` and the rest the owner decides.
        (tmp_path / "dither.toml").write_text(catalog, encoding="utf-8")


def test_both_readmes_show_the_same_code() -> None:
    for language in ("python", "sh", "text"):
        assert blocks("README.md", language) == blocks("README.zh-CN.md", language)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_that_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), f"{page}: {target}"


def test_the_walk_of_the_architecture_names_real_files() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for name in re.findall(r"`([a-z_/]+(?:\.py|/))`", text):
        assert (ROOT / "src" / "dither" / name).exists() or (ROOT / name).exists(), name
