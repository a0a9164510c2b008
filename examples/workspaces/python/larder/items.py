"""What can lie on a shelf. `Item` is the base; the others differ in how long they keep."""

from __future__ import annotations

from abc import ABC, abstractmethod

from larder.money import Money
from larder.units import Unit

FOREVER = 10_000


class Item(ABC):
    """Something that can be stored and ordered."""

    def __init__(self, name: str, price: Money, unit: Unit = Unit.PIECE) -> None:
        self.name = name
        self.price = price
        self.unit = unit

    @abstractmethod
    def days_left(self, today: int) -> int:
        """Days until it must be used, counted from day `today`."""

    def is_urgent(self, today: int) -> bool:
        """Whether it should be used in the next two days."""
        return self.days_left(today) <= 2

    def describe(self) -> str:
        return f"{self.name} ({self.price} / {self.unit.symbol})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class Durable(Item):
    """Keeps for ever."""

    def days_left(self, today: int) -> int:
        return FOREVER


class Perishable(Item):
    """Must be used by a day."""

    def __init__(self, name: str, price: Money, best_before: int, unit: Unit = Unit.KILOGRAM) -> None:
        super().__init__(name, price, unit)
        self.best_before = best_before

    def days_left(self, today: int) -> int:
        return max(0, self.best_before - today)

    def describe(self) -> str:
        return f"{super().describe()}, use by day {self.best_before}"


class Spice(Durable):
    """Durable, sold by the gram, and hot to some degree."""

    def __init__(self, name: str, price: Money, heat: int = 0) -> None:
        super().__init__(name, price, Unit.GRAM)
        self.heat = heat

    def describe(self) -> str:
        return super().describe() + " " + "*" * self.heat
