"""Where random bytes come from: the system's generator, and injected sources for tests.

Flow: every sampler of `dither.noise` asks an `Entropy` for bytes; when none is given it asks `system_entropy()`.
Relies on: SHAKE-256 for a question's few bytes and AES-256-CTR of `cryptography` for long draws (ten times as fast, and
7 MB that most processes never load), both keyed by the operating system, with fast key erasure: the first 32 bytes of
every stream become the next key, so a key taken from memory later says nothing about noise drawn before. Erasing is
as good as CPython allows: our own buffers are overwritten, copies made by the interpreter or OpenSSL are not ours.
Source: D. J. Bernstein, "Fast-key-erasure random-number generators", 2017.
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext

__all__ = ["ByteTape", "Entropy", "SystemEntropy", "insecure_seeded", "system_entropy", "words16", "words64"]

_KEY_BYTES = 32
_POOL_BYTES = 16_384
_ZEROS = memoryview(bytes(1 << 20))


class Entropy(Protocol):
    """A source of independent uniform bytes."""

    def read(self, size_bytes: int) -> bytes:
        """Exactly `size_bytes` bytes, never handed out before."""


class SystemEntropy:
    """A generator that is keyed by the operating system, forgets its past, and never survives a fork.

    Thread-safe (one lock). `epoch` changes whenever values drawn earlier must not be used any more: after a fork, and
    after `mix_in`. Whoever keeps pre-drawn values compares epochs before using one."""

    def __init__(self) -> None:
        self._key = bytearray(_KEY_BYTES)
        self._pool = bytearray()
        self._epoch = 0
        self._start()

    def read(self, size_bytes: int) -> bytes:
        with self._lock:
            self._check_process()
            if size_bytes > _POOL_BYTES:
                return self._stream(size_bytes)
            if size_bytes > len(self._pool):
                self._wipe_pool()
                self._pool = self._short_stream(_POOL_BYTES)
            # From the end: shortening the buffer is the erasure of its use, overwriting that of its content.
            start = len(self._pool) - size_bytes
            taken = bytes(self._pool[start:])
            self._pool[start:] = bytes(size_bytes)
            del self._pool[start:]
            return taken

    @property
    def epoch(self) -> int:
        self._check_process()
        return self._epoch

    def mix_in(self, material: bytes) -> None:
        """Make the key depend on `material` too, and drop everything generated in advance.
        The new key is unpredictable if the old key or the material is."""
        with self._lock:
            self._check_process()
            mixed = hashlib.blake2b(material, key=bytes(self._key), digest_size=_KEY_BYTES, person=b"dither.mix_in")
            self._key[:] = mixed.digest()
            self._wipe_pool()
            self._epoch += 1

    def refresh(self) -> None:
        """Mix in 32 fresh bytes of the operating system: once per question, so that two machines started from one
        snapshot do not answer with the same noise (the difference of such answers would be exact)."""
        self.mix_in(os.urandom(_KEY_BYTES))

    def forget(self) -> None:
        """Drop key and buffer and start anew. A forked child must: a worker that shares the parent's stream would
        release differences without noise. The lock is replaced because another thread may have held it at the fork."""
        self._wipe_pool()
        self._start()

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._key[:] = os.urandom(_KEY_BYTES)
        self._epoch += 1

    def _check_process(self) -> None:
        # The fork hook covers os.fork; this covers a fork made in C, which runs no Python hook.
        if os.getpid() != self._process:
            self.forget()

    def _wipe_pool(self) -> None:
        self._pool[:] = bytes(len(self._pool))
        self._pool.clear()

    def _short_stream(self, size_bytes: int) -> bytearray:
        stream = bytearray(hashlib.shake_256(self._key).digest(_KEY_BYTES + size_bytes))
        self._key[:] = stream[:_KEY_BYTES]
        del stream[:_KEY_BYTES]
        return stream

    def _stream(self, size_bytes: int) -> bytes:
        parts = []
        while size_bytes > 0:
            step = min(size_bytes, len(_ZEROS))
            # A fixed first counter block is right here: each key encrypts one stream of at most 1 MiB.
            stream = _counter_mode(bytes(self._key))
            self._key[:] = stream.update(_ZEROS[:_KEY_BYTES])
            parts.append(stream.update(_ZEROS[:step]))
            size_bytes -= step
        return parts[0] if len(parts) == 1 else b"".join(parts)


class _Seeded:
    def __init__(self, seed: int) -> None:
        self._stream = _counter_mode(hashlib.sha256(b"dither insecure seed %d" % seed).digest())

    def read(self, size_bytes: int) -> bytes:
        return self._stream.update(bytes(size_bytes))


class ByteTape:
    """A fixed list of bytes, for tests: reads them once, in order, and raises InvalidParameter at the end."""

    def __init__(self, tape: bytes) -> None:
        self._tape = tape
        self.position = 0

    def read(self, size_bytes: int) -> bytes:
        end = self.position + size_bytes
        if end > len(self._tape):
            raise InvalidParameter("tape", expected=f"at least {end} bytes", found=len(self._tape))
        taken = self._tape[self.position : end]
        self.position = end
        return taken


def insecure_seeded(seed: int) -> Entropy:
    """A source that repeats itself for the same seed: for tests and papers, never for an answer about people.
    Whoever knows the seed removes the noise."""
    return _Seeded(seed)


def system_entropy() -> SystemEntropy:
    """The process's own generator, the default of every sampler."""
    return _SYSTEM


def words16(entropy: Entropy, count: int) -> NDArray[np.uint16]:
    """`count` uniform 16-bit words; little-endian on every machine, so that a seed means the same everywhere."""
    return np.frombuffer(entropy.read(2 * count), dtype="<u2")


def words64(entropy: Entropy, count: int) -> NDArray[np.uint64]:
    """`count` uniform 64-bit words, little-endian."""
    return np.frombuffer(entropy.read(8 * count), dtype="<u8")


def _counter_mode(key: bytes) -> CipherContext:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()


_SYSTEM = SystemEntropy()
os.register_at_fork(after_in_child=_SYSTEM.forget)
