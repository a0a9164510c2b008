"""Orders: a customer wants things, the larder gives them, a pricing says what they cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from larder.events import Event
from larder.items import Item
from larder.money import ZERO, Money
from larder.pricing import ListPrice, Pricing
from larder.stock import Larder, OutOfStock


class State(Enum):
    """Where an order stands."""

    OPEN = auto()
    FILLED = auto()
    REFUSED = auto()


@dataclass
class OrderLine:
    """So much of an item."""

    item: Item
    amount: float

    def as_pair(self) -> tuple[Item, float]:
        return self.item, self.amount


@dataclass
class Order:
    """What one customer wants."""

    customer: str
    lines: list[OrderLine] = field(default_factory=list)
    state: State = State.OPEN
    paid: Money = ZERO

    def add(self, item: Item, amount: float) -> Order:
        self.lines.append(OrderLine(item, amount))
        return self

    def cost(self, pricing: Pricing) -> Money:
        return pricing.price([line.as_pair() for line in self.lines])


def fill(order: Order, larder: Larder, pricing: Pricing | None = None) -> Money:
    """Takes all lines from the larder, or none of them."""
    taken: list[OrderLine] = []
    try:
        for line in order.lines:
            larder.take(line.item, line.amount)
            taken.append(line)
    except OutOfStock:
        _put_back(taken, larder)
        order.state = State.REFUSED
        raise
    order.state = State.FILLED
    order.paid = order.cost(pricing or ListPrice())
    larder.bus.publish(Event("filled", order.customer, len(taken)))
    return order.paid


def _put_back(lines: list[OrderLine], larder: Larder) -> None:
    for line in reversed(lines):
        larder.put(line.item, line.amount)
