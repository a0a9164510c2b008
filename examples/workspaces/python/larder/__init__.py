"""A kitchen's larder: what is on the shelves, who orders what, and what it costs."""

from larder.items import Item, Perishable, Spice
from larder.money import Money
from larder.orders import Order, OrderLine
from larder.stock import Larder, OutOfStock

__all__ = ["Item", "Larder", "Money", "Order", "OrderLine", "OutOfStock", "Perishable", "Spice"]
