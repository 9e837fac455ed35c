"""Secret[T]: a value computed from private rows. It prints as <secret>, and only mechanisms open it.

Not a security boundary inside a process: it is a type that makes an accident (a log line, an f-string, a comparison)
fail instead of leak, and makes every opening easy to find (`grep open_secret`).
"""

from __future__ import annotations

from typing import Generic, NoReturn, TypeVar

from dither.errors import GuaranteeError

__all__ = ["Secret", "open_secret"]

T = TypeVar("T")


class Secret(Generic[T]):
    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "<secret>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "<secret>"

    def _refuse(self, *_: object) -> NoReturn:
        raise GuaranteeError("A secret value was about to be compared, hashed, iterated, copied out or pickled.")

    __bool__ = __len__ = __iter__ = __int__ = __float__ = __index__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _refuse
    __reduce_ex__ = _refuse


def open_secret(secret: Secret[T]) -> T:
    """The value inside. Called by mechanisms on the way to adding noise, and nowhere else (a test checks)."""
    return secret._value
