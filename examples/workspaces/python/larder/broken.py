"""Errors on purpose, for a type checker to find. Nothing imports this file."""

from __future__ import annotations

from larder.items import Durable, Perishable
from larder.money import Money
from larder.orders import Order
from larder.stock import Larder
from larder.spoons import Spoon


def wrong_argument(larder: Larder) -> None:
    larder.put("salt", 3)


def wrong_attribute(order: Order) -> str:
    return order.custommer


def wrong_return(price: Money) -> int:
    return str(price)


def missing_argument() -> Perishable:
    return Perishable("milk", Money(99))


def undefined_name() -> Durable:
    print("🧂", salt)
    return Durable("salt", Money(40))
