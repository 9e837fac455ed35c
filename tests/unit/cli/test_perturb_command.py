"""`dither perturb` in this process: what it writes, charges, says and refuses."""

from __future__ import annotations

import fcntl
import math
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

from dither.accounting.metric import MetricLoss
from dither.answer.apart_words import in_language
from dither.cli import main
from dither.engines.points import PointFile
from dither.ledger.apart import ApartLedger
from dither.mechanisms import planar
from dither.session.places import person_column
from dither.session.places_request import PlacesRequest

Captured = pytest.CaptureFixture[str]

ASKED = ["--lat", "lat", "--lon", "lon", "--radius", "200m", "--level", "ln 4"]
CENTRE = ["--centre", "52.37,4.90"]
PLANE = planar.LocalPlane(52.37, 4.90)
PEOPLE, ROWS = 300, 1200


def write(path: Path, columns: dict[str, object]) -> None:
    with duckdb.connect() as connection:
        connection.register("t", columns)
        kind = "" if path.suffix == ".parquet" else "(FORMAT csv, HEADER)"
        connection.execute(f"COPY (SELECT * FROM t) TO '{path}' {kind}")


def read(path: str) -> dict[str, np.ndarray]:
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT * FROM '{path}'").fetchnumpy()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    generator = np.random.default_rng(1)
    person = generator.integers(0, PEOPLE, ROWS)
    places = {
        "lat": 52.37 + generator.normal(0, 0.02, ROWS), "lon": 4.90 + generator.normal(0, 0.03, ROWS),
        "person": person, "hour": np.arange(ROWS), "secret": np.arange(ROWS) + 10**6,
    }  # fmt: skip
    write(tmp_path / "points.parquet", places)
    write(tmp_path / "points.csv", places)
    grid = [(52.33 + 0.01 * i, 4.82 + 0.02 * j) for i in range(9) for j in range(9)]
    write(
        tmp_path / "prior.parquet",
        {"lat": np.array([p[0] for p in grid]), "lon": np.array([p[1] for p in grid]), "weight": np.ones(81)},
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


def spent(path: str = "points.places.ledger") -> MetricLoss:
    ledger = ApartLedger.look(path)
    try:
        assert ledger.verify().holds
        total = ledger.total()
        assert isinstance(total, MetricLoss)
        return total
    finally:
        ledger.close()


@pytest.mark.parametrize("name", ["points.parquet", "points.csv"])
def test_places_are_written_with_noise_and_nothing_else_of_the_file(folder: Path, name: str, capsys: Captured) -> None:
    assert main(["perturb", name, *ASKED, *CENTRE]) == 0
    shown, raw = read("points.perturbed.parquet"), read("points.parquet")
    assert list(shown) == ["lat", "lon"] and len(shown["lat"]) == ROWS
    assert not set(shown["lat"].tolist()) & set(raw["lat"].tolist())
    loss = planar.perturb(np.zeros((1, 2)), radius=200, factor=4).loss
    assert spent().epsilon == pytest.approx(loss.epsilon) and spent().epsilon >= loss.epsilon
    assert person_column(spent().metric) is None
    told = capsys.readouterr().out
    assert "289 m" in told and "685 m" in told and "not differential privacy" in told


def test_kept_rows_carry_their_own_noise_and_the_order_is_drawn(folder: Path) -> None:
    assert main(["perturb", "points.parquet", *ASKED, *CENTRE, "--keep", "hour", "--out", "out.csv"]) == 0
    shown, raw = read("out.csv"), read("points.parquet")
    hour = shown["hour"]
    assert sorted(hour.tolist()) == list(range(ROWS)) and not np.array_equal(hour, np.arange(ROWS))
    # 1,200 distances of mean 289 m, standard error 6 m; a row joined to another's noise is kilometres off.
    moved = PLANE.metres(shown["lat"], shown["lon"]) - PLANE.metres(raw["lat"][hour], raw["lon"][hour])
    assert np.hypot(*moved.T).mean() == pytest.approx(289, abs=45)


def test_rows_of_a_person_are_cut_to_k_and_cost_k_times(folder: Path, capsys: Captured) -> None:
    asked = ["--person", "person", "--points-per-person", "3", "--keep", "hour"]
    assert main(["perturb", "points.parquet", *ASKED, *CENTRE, *asked]) == 0
    shown, raw = read("points.perturbed.parquet"), read("points.parquet")
    per_person = np.bincount(raw["person"][shown["hour"]], minlength=PEOPLE)
    assert np.array_equal(per_person, np.minimum(np.bincount(raw["person"], minlength=PEOPLE), 3))
    assert "person" not in shown
    one = planar.perturb(np.zeros((1, 2)), radius=200, factor=4).loss.epsilon
    assert float(spent().epsilon) == pytest.approx(3 * float(one))
    assert person_column(spent().metric) == "person"
    assert "left out" in capsys.readouterr().err
    # Which rows count is drawn: not always a person's first.
    first = [np.flatnonzero(raw["person"] == who)[:3] for who in range(PEOPLE)]
    assert set(np.concatenate(first).tolist()) != set(shown["hour"].tolist())


def test_what_a_row_costs_is_never_added_to_what_a_person_costs(folder: Path, capsys: Captured) -> None:
    assert main(["perturb", "points.parquet", *ASKED, *CENTRE, "--out", "a.csv"]) == 0
    before = spent()
    by_person = ["--person", "person", "--points-per-person", "1", "--out", "b.csv"]
    assert main(["perturb", "points.parquet", *ASKED, *CENTRE, *by_person]) == 4
    assert main(["perturb", "points.parquet", *ASKED, "--centre", "52.4,4.9", "--out", "b.csv"]) == 4
    assert capsys.readouterr().err.count("L-500") == 2
    assert spent() == before and not Path("b.csv").exists()


def test_releases_add_up_until_the_allowance_is_spent(folder: Path, capsys: Captured) -> None:
    limit = ["--allowance", "ln 16"]
    for name in ("a.csv", "b.csv"):
        assert main(["perturb", "points.parquet", *ASKED, *CENTRE, *limit, "--out", name]) == 0
    assert main(["perturb", "points.parquet", *ASKED, *CENTRE, "--out", "c.csv"]) == 3
    assert "M-100" in capsys.readouterr().err and not Path("c.csv").exists()


def test_a_region_holds_all_that_is_shown_and_a_prior_draws_it_nearer(folder: Path, capsys: Captured) -> None:
    box = ["--region", "52.35,4.87,52.39,4.93"]
    assert main(["perturb", "points.parquet", *ASKED, *box, "--out", "a.csv"]) == 0
    shown = read("a.csv")
    # The sides are straight in the plane, so a parallel bends away from them by a few millionths of a degree.
    assert shown["lat"].min() > 52.35 - 1e-4 and shown["lat"].max() < 52.39 + 1e-4
    assert shown["lon"].min() > 4.87 - 1e-4 and shown["lon"].max() < 4.93 + 1e-4
    for loss in ("squared", "distance"):
        more = ["--remap", "prior.parquet", "--loss", loss, "--out", f"{loss}.csv", "--ledger", "other.ledger"]
        assert main(["perturb", "points.parquet", *ASKED, *CENTRE, *more]) == 0
        assert read(f"{loss}.csv")["lat"].max() <= 52.411
    assert "remapped" in capsys.readouterr().out


def test_a_polygon_of_geojson_is_a_region_and_its_middle_the_centre(folder: Path) -> None:
    ring = "[[4.85,52.35],[4.95,52.35],[4.90,52.42],[4.85,52.35]]"
    Path("area.geojson").write_text(
        f'{{"type":"Feature","properties":{{}},"geometry":{{"type":"Polygon","coordinates":[{ring}]}}}}',
        encoding="utf-8",
    )
    assert main(["perturb", "points.parquet", *ASKED, "--region", "area.geojson", "--out", "a.csv"]) == 0
    assert "about 52.385, 4.9," in spent().metric
    shown = read("a.csv")
    assert np.all(shown["lat"] < 52.421) and np.all(shown["lat"] > 52.349)


def test_the_page_shows_no_raw_place_unless_the_owner_says_so(folder: Path) -> None:
    assert main(["perturb", "points.parquet", *ASKED, *CENTRE, "--report", "page.html", "--out", "a.csv"]) == 0
    public = Path("page.html").read_text(encoding="utf-8")
    assert (
        'class="raw"' not in public and "owner alone" not in public and "these very places moved is not told" in public
    )
    asked = ["--report", "own.html", "--owner-only", "--out", "b.csv"]
    assert main(["perturb", "points.parquet", *ASKED, *CENTRE, *asked]) == 0
    own = Path("own.html").read_text(encoding="utf-8")
    assert own.count('class="raw"') == ROWS and "do not send or publish" in own
    assert stat.S_IMODE(Path("own.html").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("language", "phrases"),
    [("en", ["metric privacy", "not differential privacy", "each row", "level ln 4 within 200m", "released"]),
     ("zh", ["度量隐私", "不是差分隐私", "每一行", "已发布"])],
)  # fmt: skip
def test_the_statement_says_what_was_released_and_what_it_is_not(
    folder: Path, language: str, phrases: list[str], capsys: Captured
) -> None:
    assert main(["perturb", "points.parquet", *ASKED, *CENTRE]) == 0
    capsys.readouterr()
    assert main(["perturb", "points.parquet", "--statement", "--lang", language]) == 0
    text = capsys.readouterr().out
    assert all(phrase in text for phrase in phrases)
    assert main(["perturb", "points.parquet", "--statement", "--out", "s.html"]) == 0
    assert Path("s.html").read_text(encoding="utf-8").startswith("<!doctype html>")


WRONG_ROWS = {
    "latitude of 95": ([95.0, 52.3712345], [4.9, 4.9]),
    "NaN": ([math.nan, 52.3712345], [4.9, 4.9]),
    "longitude of 200": ([52.3712345, 52.4], [4.9, 200.0]),
    "another continent": ([52.3712345, -12.3], [4.9, 44.4]),
    "no rows": ([], []),
}


@pytest.mark.parametrize("name", WRONG_ROWS)
def test_wrong_rows_are_refused_without_a_value_and_charge_nothing(folder: Path, name: str, capsys: Captured) -> None:
    latitude, longitude = WRONG_ROWS[name]
    write(folder / "bad.parquet", {"lat": np.array(latitude, dtype=float), "lon": np.array(longitude, dtype=float)})
    assert main(["perturb", "bad.parquet", *ASKED, *CENTRE]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("[I-100]") == 1
    assert not any(value in told.err for value in ("95.0", "52.37", "200.0", "12.3", "44.4", "nan"))
    assert not Path("bad.places.ledger").exists() and not Path("bad.perturbed.parquet").exists()


@pytest.mark.parametrize(
    "text", ["lat,lon\nabc,4.9\n", "lat,lon\n,4.9\n", "lat,lon\n52,4.9,7\n", 'lat,lon\n"52,4.9\n', "lat,lat\n1,2\n", ""]
)
def test_texts_that_are_no_places_are_refused_without_a_value(folder: Path, text: str, capsys: Captured) -> None:
    Path("bad.csv").write_text(text, encoding="utf-8")
    assert main(["perturb", "bad.csv", *ASKED, *CENTRE]) in (2, 4)
    told = capsys.readouterr().err
    assert "abc" not in told and "4.9" not in told and "Traceback" not in told
    assert not Path("bad.places.ledger").exists()


@pytest.mark.parametrize(
    ("change", "says"),
    [({"--radius": "200"}, "unit"), ({"--radius": "0m"}, "above 0"), ({"--level": "ln 1"}, "above 1"),
     ({"--level": "0.5"}, "ln of a number"), ({"--level": "4"}, "ln of a number"),
     ({"--lat": "latitude"}, "no column"), ({"--lat": None}, "--lat"), ({"--centre": None}, "public centre"),
     ({"--centre": "95,4"}, "within"), ({"--lattice": "0.3m"}, "power of two"),
     ({"--person": "person"}, "both or neither"), ({"--region": "1,2,3"}, "SOUTH"),
     ({"--region": "53,4,52,5"}, "south < north"), ({"--report": "page.txt"}, ".html"),
     ({"--out": "no/where.csv"}, "--out"), ({"--out": "points.parquet"}, "--out"),
     ({"--keep": "nothing"}, "no column"), ({"--keep": "LAT"}, "twice"),
     ({"--lon": "lat"}, "twice"), ({"--radius": "1e900m"}, "1,000,000"), ({"--radius": "1e-900m"}, "0.001"),
     ({"--level": "ln 1.0000000001"}, "2^-20"), ({"--ledger": "points.csv"}, "--ledger"),
     ({"--remap": "points.parquet"}, "weight"), ({"--reach": "2000km"}, "1,000,000")],
)  # fmt: skip
def test_options_that_are_wrong_get_one_error_and_charge_nothing(
    folder: Path, change: dict[str, str | None], says: str, capsys: Captured
) -> None:
    options: dict[str, str | None] = {"--lat": "lat", "--lon": "lon", "--radius": "200m", "--level": "ln 4"}
    options |= {"--centre": "52.37,4.90"} | change
    given = [word for name, value in options.items() if value is not None for word in (name, value)]
    assert main(["perturb", "points.parquet", *given]) in (2, 4)
    told = capsys.readouterr()
    assert told.out == "" and says in told.err and "Traceback" not in told.err
    assert not list(folder.glob("*.lock")) and stat.S_IMODE(Path("points.csv").stat().st_mode) & 0o044
    assert not Path("points.places.ledger").exists() and not Path("points.perturbed.parquet").exists()


def test_a_person_that_is_missing_in_a_row_is_refused(folder: Path, capsys: Captured) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT 52.37 AS lat, 4.9 AS lon, CASE WHEN i > 1 THEN i END AS person FROM range(5) r(i)) "
            "TO 'n.parquet'"
        )
    by_person = ["--person", "person", "--points-per-person", "1"]
    assert main(["perturb", "n.parquet", *ASKED, *CENTRE, *by_person]) == 2
    assert "--person" in capsys.readouterr().err and not Path("n.places.ledger").exists()


def test_a_charge_stays_when_nothing_can_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    from dither.engines.points import PointFile
    from dither.errors import EngineError

    def full(*_: object, **__: object) -> None:
        raise EngineError("The noisy places could not be written. The charge stands.")

    monkeypatch.setattr(PointFile, "write", full)
    assert main(["perturb", "points.parquet", *ASKED, *CENTRE]) == 4
    assert spent().epsilon > 0 and not Path("points.perturbed.parquet").exists()
    monkeypatch.undo()


def test_nothing_is_shown_that_the_ledger_does_not_know_as_answered(folder: Path) -> None:
    import hashlib

    assert main(["perturb", "points.parquet", *ASKED, *CENTRE]) == 0
    ledger = ApartLedger.look("points.places.ledger")
    (entry,) = ledger.log()
    ledger.close()
    assert entry.state == "answered"
    assert entry.digest == hashlib.sha256(Path("points.perturbed.parquet").read_bytes()).hexdigest()


@pytest.fixture
def cells(folder: Path) -> list[str]:
    grid = [(52.34 + 0.02 * i, 4.84 + 0.03 * j) for i in range(4) for j in range(5)]
    weights = np.arange(1.0, 21.0)
    columns = {"lat": np.array([c[0] for c in grid]), "lon": np.array([c[1] for c in grid]), "weight": weights}
    write(folder / "cells.parquet", columns)
    return ["--radius", "2km", "--cells", "cells.parquet"]


def test_cells_are_written_as_they_were_listed(folder: Path, cells: list[str]) -> None:
    # 4.9 went into the plane and came back as 4.900000000000006.
    asked = ["--lat", "lat", "--lon", "lon", "--level", "ln 100000", *CENTRE, *cells, "--cell-reach", "20km"]
    assert main(["perturb", "points.parquet", *asked, "--out", "cells.out.csv"]) == 0
    listed = read("cells.parquet")
    known = {f"{lat!r},{lon!r}" for lat, lon in zip(listed["lat"].tolist(), listed["lon"].tolist(), strict=True)}
    written = Path("cells.out.csv").read_text().splitlines()[1:]
    assert len(written) == ROWS and set(written) <= known


def test_places_of_a_lattice_are_written_without_the_digits_of_a_rounding(folder: Path) -> None:
    assert main(["perturb", "points.csv", *ASKED, *CENTRE, "--out", "a.csv"]) == 0
    written = [number for line in Path("a.csv").read_text().splitlines()[1:] for number in line.split(",")]
    assert max(len(number.partition(".")[2]) for number in written) <= 12
    # They are still the lattice's points, to less than a micrometre.
    shown = read("a.csv")
    steps = PLANE.metres(shown["lat"], shown["lon"])
    finest = planar.PlanarNoise.within(200, factor=4).lattice.step
    assert np.abs(steps / float(finest) - np.rint(steps / float(finest))).max() < 1e-6


def test_cells_are_shown_by_the_optimal_mechanism(folder: Path, cells: list[str], capsys: Captured) -> None:
    asked = ["--lat", "lat", "--lon", "lon", "--level", "ln 100000", *CENTRE, *cells, "--cell-reach", "20km"]
    assert main(["perturb", "points.parquet", *asked, "--report", "page.html"]) == 0
    listed, shown = read("cells.parquet"), read("points.perturbed.parquet")
    known = set(zip(np.round(listed["lat"], 7).tolist(), np.round(listed["lon"], 7).tolist(), strict=True))
    seen = set(zip(np.round(shown["lat"], 7).tolist(), np.round(shown["lon"], 7).tolist(), strict=True))
    assert seen <= known and len(seen) > 3
    # epsilon (2 km + 2 * 20 km) is ln 100000.
    assert float(spent().epsilon) == pytest.approx(math.log(100_000) / 42_000)
    told = " ".join(capsys.readouterr().out.split())
    assert "by the table" in told and "cell it counts as" in told


def test_places_beyond_reach_of_the_cells_and_options_that_clash_are_refused(
    folder: Path, cells: list[str], capsys: Captured
) -> None:
    asked = ["--lat", "lat", "--lon", "lon", "--level", "ln 4", *CENTRE, *cells]
    assert main(["perturb", "points.parquet", *asked, "--cell-reach", "500m"]) == 2
    assert main(["perturb", "points.parquet", *asked]) == 2
    assert main(["perturb", "points.parquet", *asked, "--cell-reach", "20km", "--remap", "prior.parquet"]) == 2
    assert main(["perturb", "points.parquet", *asked[:-1], "prior.parquet", "--cell-reach", "20km"]) == 2
    assert capsys.readouterr().err.count("[I-100]") == 4
    assert not Path("points.places.ledger").exists()


@pytest.mark.parametrize("people", [[], ["--person", "person", "--points-per-person", "1"]])
def test_a_chinese_statement_has_no_english_sentence_in_it(folder: Path, people: list[str], capsys: Captured) -> None:
    # What was released, and the metric, were the ledger's English words.
    assert main(["perturb", "points.parquet", *ASKED, *CENTRE, *people]) == 0
    capsys.readouterr()
    assert main(["perturb", "points.parquet", "--statement", "--lang", "zh"]) == 0
    text = capsys.readouterr().out
    assert "200m 以内水平 ln 4, " in text and "平面上的米 (以 52.37, 4.9 为中心), " in text
    known = {"Dither", "epsilon", "points", "ln", "person", "keep", "sqrt", "parquet", "places", "ledger"}
    assert set(re.findall(r"(?a:\b[A-Za-z]{2,}\b)", text)) <= known, text


@pytest.mark.parametrize("words", ["of another version", "level ln 4", "", "metric privacy in years of age", "level 2"])
def test_words_of_another_version_are_kept_as_they_are(words: str) -> None:
    assert in_language(words, "en") == words
    assert in_language(words, "zh").endswith(words.removeprefix("metric privacy in "))


def test_the_statement_of_a_data_set_tells_of_its_places(folder: Path, capsys: Captured) -> None:
    Path("dither.toml").write_text(
        '[dataset]\nname = "calls"\nledger = "calls.ledger"\n[source]\nurl = "points.parquet"\n'
        '[unit]\nname = "caller"\n'
        '[budget]\nepsilon = 1\n[tables.points]\nprivacy_unit = "person"\n[tables.points.columns]\n'
        'hour = { type = "integer", bounds = [0, 2000] }\n',
        encoding="utf-8",
    )
    asked = ["--person", "person", "--points-per-person", "2", "--catalog", "dither.toml"]
    assert main(["perturb", "points.parquet", *ASKED, *CENTRE, *asked]) == 0
    assert main(["perturb", "points.parquet", *ASKED, *CENTRE, *asked, "--out", "b.csv", "--ledger", "x.ledger"]) == 2
    (ledger,) = Path().glob("calls.ledger.metric-????????????")
    assert float(spent(str(ledger)).epsilon) == pytest.approx(2 * math.log(4) / 200.177, rel=1e-5)
    assert not Path("points.places.ledger").exists()
    # The data set's own ledger begins with its first question; its statement wants one.
    assert main(["ask", "SELECT COUNT(*) FROM points", "-e", "0.1"]) == 0
    capsys.readouterr()
    assert main(["statement"]) == 0
    text = capsys.readouterr().out
    assert "metres in the plane about 52.37, 4.9" in text and "ln 4 within 200m" in text
    assert main(["statement", "--lang", "zh"]) == 0
    text = capsys.readouterr().out
    assert "平面上的米 (以 52.37, 4.9 为中心), 按列 person 中的每个人计算" in text
    assert "200m 以内水平 ln 4, 每人至多 2 个点" in text and "metric privacy in" not in text


ALL = ["perturb", "points.parquet", *ASKED, *CENTRE]


def test_a_release_is_never_written_over_the_ledger_that_was_charged_for_it(folder: Path, capsys: Captured) -> None:
    # The ledger is begun after --out was looked at: the release replaced it, and the charge was forgotten.
    assert main([*ALL, "--out", "x.parquet", "--ledger", "x.parquet"]) == 2
    assert "--out must be a file of its own" in capsys.readouterr().err
    assert not (folder / "x.parquet").exists()


def test_a_statement_is_never_written_over_places_or_their_ledger(folder: Path, capsys: Captured) -> None:
    assert main([*ALL, "--out", "a.parquet"]) == 0
    for place in ("points.parquet", "points.places.ledger"):
        before = (folder / place).read_bytes()
        assert main(["perturb", "points.parquet", "--statement", "--out", place]) == 2
        assert (folder / place).read_bytes() == before


def test_a_statement_is_not_of_another_ledger_than_the_catalogs(folder: Path, capsys: Captured) -> None:
    # --catalog was not looked at: the statement was of the ledger beside the file, and left out what it was asked for.
    assert main([*ALL, "--out", "a.parquet"]) == 0
    capsys.readouterr()
    assert main(["perturb", "points.parquet", "--statement", "--catalog", "dither.toml"]) == 2
    assert "dither statement --catalog dither.toml" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_what_cannot_be_written_is_found_out_before_the_charge(folder: Path, option: str, capsys: Captured) -> None:
    name = "x.parquet" if option == "--out" else "x.html"
    others = [] if option == "--out" else ["--out", "a.parquet"]
    assert main([*ALL, *others, option, f"/proc/{name}"]) == 2
    assert f"{option} must be" in capsys.readouterr().err
    assert not (folder / "points.places.ledger").exists() and not (folder / "a.parquet").exists()


def test_of_two_releases_at_once_into_one_file_one_is_refused_uncharged(
    folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both found no file there, both were charged, and the second took the first one's place.
    from dither.session import places

    opened = places._ledger

    def while_another_is_first(request: PlacesRequest) -> object:
        monkeypatch.setattr(places, "_ledger", opened)
        assert main([*ALL, "--out", "a.parquet"]) == 0
        return opened(request)

    monkeypatch.setattr(places, "_ledger", while_another_is_first)
    assert main([*ALL, "--out", "a.parquet"]) == 2
    assert "is not written over" in capsys.readouterr().err
    ledger = ApartLedger.look("points.places.ledger")
    assert len(ledger.log()) == 1
    ledger.close()
    assert len(read("a.parquet")["lat"]) == ROWS


def test_a_release_that_is_not_admitted_leaves_no_file(folder: Path) -> None:
    assert main([*ALL, "--out", "a.parquet", "--allowance", "ln 2"]) == 3
    assert not (folder / "a.parquet").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        ["--reach", "1e400km"], ["--centre", "1e400,4.90"], ["--region", "1e400,1,2,3"], ["--radius", "1e400m"],
        ["--lattice", "1e400m"], ["--region", "deep.json"], ["--region", "named.json"], ["--remap", "heavy.csv"],
        ["--cells", "heavy.csv", "--cell-reach", "300m"],
    ],
)  # fmt: skip
def test_numbers_and_files_beyond_all_measure_are_one_error(folder: Path, wrong: list[str], capsys: Captured) -> None:
    (folder / "deep.json").write_text("[" * 100_000, encoding="utf-8")
    corners = '[[4.8, 52.3], {"0": 1}, [5, 52.3], [4.8, 52.4]]'
    (folder / "named.json").write_text(f'{{"type": "Polygon", "coordinates": [{corners}]}}', encoding="utf-8")
    (folder / "heavy.csv").write_text("lat,lon,weight\n52.37,4.9,1e308\n52.36,4.9,1e308\n", encoding="utf-8")
    assert main([*ALL, "--out", "a.parquet", *wrong]) == 2
    assert capsys.readouterr().err.startswith("InvalidParameter")
    assert not (folder / "a.parquet").exists() and not (folder / "points.places.ledger").exists()


@pytest.mark.parametrize("content", [b"lat,lon," + b"a" * 200_000 + b"\n1,2,3\n", b"lat,l\xf6n\n1,2\n"])
def test_a_header_that_cannot_be_read_is_one_error(folder: Path, content: bytes, capsys: Captured) -> None:
    (folder / "odd.csv").write_bytes(content)
    assert main(["perturb", "odd.csv", *ASKED, *CENTRE]) == 4
    assert "EngineUnavailable" in capsys.readouterr().err
    assert main(["init", "odd.csv", "--output", "odd.toml"]) == 4
    assert "EngineUnavailable" in capsys.readouterr().err


def test_the_folder_is_no_file_of_places(folder: Path, capsys: Captured) -> None:
    for place in (".", "..", "/"):
        assert main(["perturb", place, *ASKED, *CENTRE]) in (2, 4)
        assert "does not know" not in capsys.readouterr().err


@pytest.mark.parametrize("where", ["ApartLedger.reserve", "PointFile.write", "os.link"])
def test_a_process_that_is_killed_leaves_no_empty_file_in_the_name_of_a_release(folder: Path, where: str) -> None:
    # The name was held by an empty file: after a kill it stood there, looked like a release, and was in the way.
    kill = "lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)"
    code = (
        "import os, signal; from dither.session.places import ApartLedger, PointFile; from dither.cli import main\n"
        f"{where} = {kill}\nmain({['perturb', 'points.csv', *ASKED, *CENTRE, '--out', 'a.csv']!r})"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not Path("a.csv").exists()
    assert main(["perturb", "points.csv", *ASKED, *CENTRE, "--out", "a.csv"]) == 0
    assert len(read("a.csv")["lat"]) == ROWS and not Path(".a.csv.being-written").exists()


def test_a_name_that_another_process_is_writing_costs_nothing(folder: Path, capsys: Captured) -> None:
    with Path(".a.csv.being-written").open("w") as claimed:
        fcntl.flock(claimed, fcntl.LOCK_EX)
        assert main(["perturb", "points.csv", *ASKED, *CENTRE, "--out", "a.csv"]) == 2
    assert "another process" in capsys.readouterr().err
    assert not Path("points.places.ledger").exists() or spent().epsilon == 0


def test_a_name_that_is_taken_meanwhile_is_left_alone_and_the_release_is_not_lost(
    folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_points = PointFile.write

    def slow(*arguments: object, **more: object) -> Path:
        Path("a.csv").write_text("mine")
        return write_points(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(PointFile, "write", slow)
    assert main(["perturb", "points.csv", *ASKED, *CENTRE, "--out", "a.csv"]) == 0
    assert Path("a.csv").read_text() == "mine" and len(read("a-2.csv")["lat"]) == ROWS
    assert "a-2.csv" in capsys.readouterr().err


def test_a_file_system_without_links_has_the_release_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refused)
    assert main(["perturb", "points.csv", *ASKED, *CENTRE, "--out", "a.csv"]) == 0
    assert len(read("a.csv")["lat"]) == ROWS
