"""Ways to price an order. `Pricing` is a protocol: whoever has `price` is one."""

from __future__ import annotations

from typing import Protocol, Sequence

from larder.items import Item
from larder.money import Money, total

Lines = Sequence["tuple[Item, float]"]


class Pricing(Protocol):
    """Turns lines into an amount."""

    name: str

    def price(self, lines: Lines) -> Money: ...


class ListPrice:
    """Every line at its item's price."""

    name = "list"

    def price(self, lines: Lines) -> Money:
        return total(item.price.times(amount) for item, amount in lines)


class Discount:
    """Some per cent off another pricing."""

    name = "discount"

    def __init__(self, base: Pricing, percent: int) -> None:
        self.base = base
        self.percent = percent

    def price(self, lines: Lines) -> Money:
        full = self.base.price(lines)
        return full - full.times(self.percent / 100)


class UseSoon:
    """Half price for what must be used in the next two days."""

    name = "use-soon"

    def __init__(self, today: int) -> None:
        self.today = today

    def price(self, lines: Lines) -> Money:
        return total(self._line(item, amount) for item, amount in lines)

    def _line(self, item: Item, amount: float) -> Money:
        share = 0.5 if item.is_urgent(self.today) else 1.0
        return item.price.times(amount * share)


def cheapest(pricings: Sequence[Pricing], lines: Lines) -> Pricing:
    """The pricing that asks for least; the first of equal ones."""
    return min(pricings, key=lambda pricing: pricing.price(lines))
