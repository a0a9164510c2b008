"""The sample program: fills a larder, takes an order, prints what is left."""

from __future__ import annotations

from larder.events import Bus, Journal
from larder.labels import shelf_edge
from larder.loader import parse
from larder.money import Money
from larder.orders import Order, fill
from larder.pricing import Discount, ListPrice, UseSoon, cheapest
from larder.report import chart, inventory, warnings
from larder.stock import Larder, OutOfStock

SAMPLE = """\
# kind;name;cents;extra
durable;rice 米;180;
perishable;crème fraîche;420;3
perishable;🍓 strawberries;690;2
spice;paprika 🌶;9;2
"""


def stocked(bus: Bus) -> Larder:
    """A larder with ten of everything."""
    larder = Larder(bus)
    for item in parse(SAMPLE.splitlines()):
        larder.put(item, 10)
    return larder


def sample_order(larder: Larder) -> Order:
    order = Order("Zoë")
    for name, amount in [("rice 米", 2.0), ("🍓 strawberries", 1.5)]:
        item = larder.find(name)
        if item is not None:
            order.add(item, amount)
    return order


def main(arguments: list[str] | None = None) -> int:
    """Runs a day; the first argument is its number."""
    today = int(arguments[0]) if arguments else 1
    bus, journal = Bus(), Journal()
    bus.subscribe("take", journal)
    larder = stocked(bus)
    order = sample_order(larder)
    pairs = [line.as_pair() for line in order.lines]
    pricing = cheapest([ListPrice(), Discount(ListPrice(), 10), UseSoon(today)], pairs)
    try:
        paid = fill(order, larder, pricing)
    except OutOfStock as reason:
        print(f"refused: {reason}")
        return 1
    print(f"{order.customer} pays {paid} ({pricing.name}), {len(journal.entries)} things taken")
    print(inventory(larder))
    print("\n".join(warnings(larder, today)))
    print(chart({item.name: item.price.times(amount) for item, amount in larder}))
    print(shelf_edge([item for item, _ in larder]))
    return 0 if paid > Money(0) else 1
