"""Amounts of money, in whole cents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import total_ordering
from typing import Iterable

CENTS = 100


@total_ordering
@dataclass(frozen=True)
class Money:
    """An amount; never a float inside."""

    cents: int

    @classmethod
    def of(cls, euros: int, cents: int = 0) -> Money:
        """`Money.of(3, 20)` is 3.20."""
        return cls(euros * CENTS + cents)

    @property
    def euros(self) -> int:
        return self.cents // CENTS

    def __add__(self, other: Money) -> Money:
        return Money(self.cents + other.cents)

    def __sub__(self, other: Money) -> Money:
        return Money(self.cents - other.cents)

    def __lt__(self, other: Money) -> bool:
        return self.cents < other.cents

    def times(self, factor: float) -> Money:
        """The amount `factor` times, rounded half up."""
        return Money(int(self.cents * factor + 0.5))

    def __str__(self) -> str:
        return f"{self.euros}.{self.cents % CENTS:02d} €"


ZERO = Money(0)


def total(amounts: Iterable[Money]) -> Money:
    """The sum of `amounts`."""
    result = ZERO
    for amount in amounts:
        result = result + amount
    return result
