"""Processes die at every step of a stream's day. No released total ever changes, and no day is released twice.

A child takes up the stream from its stored state, closes days, stores the new state, and only then shows the total
through a pipe; at its k-th step it kills itself with SIGKILL. The next child goes on from what is stored. What a child
stored and did not show, its successor shows from the state, as `arrivals` and its callers are told to do.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from dither.mechanisms.running import Arrivals, RunningStream
from dither.noise import insecure_seeded

DAYS = 24
COUNTS = np.random.default_rng(1).integers(0, 9, DAYS).tolist()


def store(path: Path, state: object) -> None:
    written = path.with_suffix(".new")
    written.write_text(json.dumps(state))
    os.replace(written, path)


def stepping(steps: int | None):
    """A counter of steps that kills the process at the given one."""
    passed = [0]

    def step() -> None:
        passed[0] += 1
        if steps is not None and passed[0] > steps:
            os.kill(os.getpid(), signal.SIGKILL)

    return step


def live(path: Path, shown: int, steps: int | None, life: int) -> None:
    """One process: from the stored state to the end, or to its death. It begins with a row that no other life counts:
    a day released by two lives would be released with two counts."""
    step = stepping(steps)
    # Fresh entropy in each life, as from a system: nothing that was shown may hang on it.
    rows = Arrivals.from_state(json.loads(path.read_text()), entropy=insecure_seeded(100 + life))
    rows.row(f"life {life}", rows.stream.day)
    while rows.stream.day < DAYS:
        day = rows.stream.day
        for row in range(COUNTS[day]):
            rows.row(f"{day}-{row % 5}", day)
            if row == 2:
                step()
        released = rows.close_day()
        step()
        store(path, rows.to_state())
        step()
        os.write(shown, f"{day} {released.total!r}\n".encode())
        step()


def child(path: Path, steps: int | None, life: int) -> list[tuple[int, float]]:
    """What one forked process showed before it ended."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            live(path, writer, steps, life)
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, ended = os.waitpid(pid, 0)
    assert ended in (0, signal.SIGKILL)
    return [(int(day), float(total)) for day, total in (line.split() for line in text.splitlines())]


@pytest.mark.parametrize("offer", [{"rho": "1/2", "memory": 3}, {"rho": "1/2"}, {"epsilon": 1}], ids=str)
@pytest.mark.parametrize("steps", [1, 2, 3, 5, 10])
def test_a_stream_survives_kills_with_every_released_total_frozen(tmp_path: Path, offer, steps: int) -> None:
    path = tmp_path / "stream.json"
    stream = RunningStream.open(DAYS, neighbours="add_remove", max_rows_per_unit=2, entropy=insecure_seeded(2), **offer)
    store(path, Arrivals(stream).to_state())
    shown: dict[int, float] = {}
    lives = 0
    while (day := json.loads(path.read_text())["stream"]["released"]["days"]) < DAYS:
        lives += 1
        assert lives < 200, "a life makes no progress"
        for released, total in child(path, steps + lives % 4, lives):
            assert shown.setdefault(released, total) == total
        state = json.loads(path.read_text())["stream"]["released"]
        if state["days"] > day:
            # Stored, and perhaps never shown: the state holds it, and what was shown agrees.
            last = state["days"] - 1
            assert shown.setdefault(last, state["last_total"]) == state["last_total"]
    assert sorted(shown) == list(range(DAYS))
    assert lives > 2
    # Rows of a day cut short are given again; kept rows are at most two a unit, so all counts were kept once, and of
    # the lives' own rows those of lives that closed a day.
    width = RunningStream.from_state(json.loads(path.read_text())["stream"]).variance(DAYS - 1) ** 0.5
    assert -7 * width < shown[DAYS - 1] - sum(COUNTS) < 7 * width + lives
