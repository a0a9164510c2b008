"""What lies in a harbour."""

from abc import ABC, abstractmethod


class Ship(ABC):
    """Anything that floats and pays."""

    def __init__(self, name: str, length: float) -> None:
        self.name = name
        self.length = length

    @abstractmethod
    def weight(self) -> float:
        """Its weight in tonnes."""

    def fee(self, nights: int) -> float:
        """What it pays."""
        return self.weight() * nights + self.length

    def label(self) -> str:
        return describe(self)


class Tanker(Ship):
    """Carries oil."""

    def __init__(self, name: str, length: float, oil: float) -> None:
        super().__init__(name, length)
        self.oil = oil

    def weight(self) -> float:
        return self.length * 10 + self.oil


class Ferry(Ship):
    """Carries people."""

    def weight(self) -> float:
        return self.length * 3

    def fee(self, nights: int) -> float:
        return super().fee(nights) / 2


class Tug(Ship):
    """Carries nothing."""

    def weight(self) -> float:
        return heavy(self.length)


def heavy(length: float) -> float:
    return length * 20


def describe(ship: Ship) -> str:
    return f"{ship.name}: {ship.weight()} t"
