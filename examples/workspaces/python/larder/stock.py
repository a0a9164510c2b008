"""The shelves: how much of each item is there."""

from __future__ import annotations

from typing import Dict, Iterator, Tuple

from larder.events import Bus, Event
from larder.items import Item
from larder.money import Money, total
from larder.units import Unit, convert


class OutOfStock(Exception):
    """More was asked for than is there."""

    def __init__(self, item: Item, wanted: float, there: float) -> None:
        super().__init__(f"{wanted:g} {item.unit.symbol} of {item.name} wanted, {there:g} there")
        self.item = item
        self.wanted = wanted
        self.there = there


class Larder:
    """Amounts by item, in the item's own unit."""

    def __init__(self, bus: Bus | None = None) -> None:
        self.bus = bus or Bus()
        self._amounts: Dict[str, float] = {}
        self._items: Dict[str, Item] = {}

    def put(self, item: Item, amount: float, unit: Unit | None = None) -> None:
        """Puts `amount` on the shelf."""
        added = convert(amount, unit or item.unit, item.unit)
        self._items[item.name] = item
        self._amounts[item.name] = self.amount_of(item) + added
        self.bus.publish(Event("put", item.name, added))

    def take(self, item: Item, amount: float, unit: Unit | None = None) -> None:
        """Takes `amount` from the shelf, or raises `OutOfStock` and changes nothing."""
        wanted = convert(amount, unit or item.unit, item.unit)
        there = self.amount_of(item)
        if wanted > there:
            raise OutOfStock(item, wanted, there)
        self._amounts[item.name] = there - wanted
        self.bus.publish(Event("take", item.name, wanted))

    def amount_of(self, item: Item) -> float:
        return self._amounts.get(item.name, 0.0)

    def find(self, name: str) -> Item | None:
        return self._items.get(name)

    def worth(self) -> Money:
        """What everything on the shelves costs together."""
        return total(item.price.times(amount) for item, amount in self)

    def urgent(self, today: int) -> list[Item]:
        """Items to use soon, the most urgent first."""
        found = [item for item, amount in self if amount > 0 and item.is_urgent(today)]
        return sorted(found, key=lambda item: (item.days_left(today), item.name))

    def __iter__(self) -> Iterator[Tuple[Item, float]]:
        for name in sorted(self._items):
            yield self._items[name], self._amounts[name]
