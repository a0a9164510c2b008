"""Units of quantity and how they convert."""

from enum import Enum


class Unit(Enum):
    """What an item is counted in."""

    PIECE = "pc"
    GRAM = "g"
    KILOGRAM = "kg"
    LITRE = "l"

    @property
    def symbol(self) -> str:
        return self.value


_FACTORS = {
    (Unit.KILOGRAM, Unit.GRAM): 1000.0,
    (Unit.GRAM, Unit.KILOGRAM): 0.001,
}


class CannotConvert(ValueError):
    """Two units have nothing to do with each other."""


def convert(amount: float, source: Unit, target: Unit) -> float:
    """`amount` of `source` in `target`."""
    if source is target:
        return amount
    try:
        return amount * _FACTORS[source, target]
    except KeyError:
        raise CannotConvert(f"{source.symbol} to {target.symbol}") from None
