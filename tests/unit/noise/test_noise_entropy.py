"""Byte sources: nothing is handed out twice, to no process and no thread, and a seed means the same for ever."""

import os
import pickle
import signal
import threading

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.noise import ByteTape, DiscreteLaplace, SystemEntropy, discrete_laplace, insecure_seeded, system_entropy

WIDE = DiscreteLaplace(2**56)  # two independent draws are equal with probability below 2^-57


def in_child(draw) -> bytes:
    """What `draw` returns in a forked child."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that hangs fails the test instead of stopping it
        try:
            os.write(writer, draw())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        content = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return content


def scalars() -> bytes:
    return pickle.dumps([WIDE.sample() for _ in range(40)])


def test_a_forked_child_discards_key_and_pre_drawn_numbers():
    WIDE.sample()  # fills the buffer of which every child now has a copy
    first, second = pickle.loads(in_child(scalars)), pickle.loads(in_child(scalars))
    own = [WIDE.sample() for _ in range(40)]
    assert len({*first, *second, *own}) == 120


def test_forked_children_read_different_bytes():
    system_entropy().read(16)  # leaves a pool behind
    reads = [in_child(lambda: system_entropy().read(64)) for _ in range(2)] + [system_entropy().read(64)]
    blocks = [read[i : i + 16] for read in reads for i in range(0, 64, 16)]
    assert len(set(blocks)) == 12


def test_a_fork_that_runs_no_python_hook_is_noticed_by_the_process_number(monkeypatch):
    system = SystemEntropy()
    system.read(16)
    epoch, key, pool = system.epoch, bytes(system._key), bytes(system._pool)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    system.read(16)
    assert system.epoch != epoch
    assert bytes(system._key) != key
    assert bytes(system._pool) not in pool


def test_a_lock_held_at_the_fork_does_not_block_the_child():
    system = system_entropy()
    with system._lock:
        content = in_child(lambda: system_entropy().read(16))
    assert len(content) == 16


def test_fresh_bytes_throw_away_key_pool_and_pre_drawn_numbers():
    system = system_entropy()
    WIDE.sample()
    copied = WIDE.__class__(2**56)  # an equal law shares the buffer
    epoch, key = system.epoch, bytes(system._key)
    system.refresh()
    assert system.epoch != epoch
    assert bytes(system._key) != key
    assert len(system._pool) == 0
    assert copied.sample() != WIDE.sample()


def test_two_copies_of_one_state_part_ways_when_each_mixes_in_its_own_bytes():
    """A cloned machine: same key in both; after mixing different bytes the streams differ, with equal ones not."""
    first, second, third = SystemEntropy(), SystemEntropy(), SystemEntropy()
    for system in (first, second, third):
        system._key[:] = bytes(range(32))
    first.mix_in(b"one")
    second.mix_in(b"two")
    third.mix_in(b"one")
    read = first.read(32)
    assert read == third.read(32)
    assert read != second.read(32)


@pytest.mark.parametrize("size_bytes", [0, 1, 16_384, 16_385, 3_000_000])
def test_reads_have_the_asked_length_and_change_the_key(size_bytes):
    system = SystemEntropy()
    key = bytes(system._key)
    assert len(system.read(size_bytes)) == size_bytes
    assert size_bytes == 0 or bytes(system._key) != key


def test_bytes_taken_from_the_pool_are_gone_from_it():
    system = SystemEntropy()
    taken = system.read(64)
    assert taken not in bytes(system._pool)
    assert system.read(64) != taken


def test_threads_never_get_the_same_number_or_bytes():
    # 16,000 draws: a collision by chance has probability below 1e-9.
    seen: list[list[int]] = []
    blocks: list[bytes] = []

    def work() -> None:
        seen.append([WIDE.sample() for _ in range(2000)])
        blocks.extend(system_entropy().read(16) for _ in range(500))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = [number for part in seen for number in part]
    assert len(numbers) == len(set(numbers)) == 16_000
    assert len(blocks) == len(set(blocks)) == 4000


def test_a_seed_gives_the_same_bytes_however_they_are_cut():
    one, two = insecure_seeded(7), insecure_seeded(7)
    assert one.read(5) + one.read(0) + one.read(100) == two.read(105)
    assert insecure_seeded(8).read(16) != insecure_seeded(7).read(16)


def test_a_seed_means_the_same_draws_for_ever():
    assert discrete_laplace(3, 8, entropy=insecure_seeded(1)).tolist() == [-3, 1, 0, -2, -6, -2, 3, -1]


def test_a_tape_is_read_in_order_and_ends_with_an_error():
    tape = ByteTape(b"abcdef")
    assert tape.read(2) + tape.read(3) == b"abcde"
    with pytest.raises(InvalidParameter):
        tape.read(2)
    assert tape.position == 5


def test_a_law_travels_between_processes_without_its_buffer():
    WIDE.sample()
    assert len(pickle.dumps(WIDE)) < 300
    assert pickle.loads(pickle.dumps(WIDE)) == WIDE


def test_an_injected_source_is_read_for_the_asked_draw_only():
    tape = ByteTape(bytes([0, 128]))  # prefix 0x8000: U in [1/2, 1/2 + 2^-16)
    assert discrete_laplace(3, entropy=tape) == 0
    assert tape.position == 2
    assert isinstance(discrete_laplace(3, np.int64(2), entropy=insecure_seeded(1)), np.ndarray)
