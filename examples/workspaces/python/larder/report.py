"""Tables for people, with names in any script."""

from __future__ import annotations

from larder.items import Item
from larder.labels import label
from larder.money import Money
from larder.stock import Larder

BAR = "█"


def row(item: Item, amount: float) -> str:
    """One line: label, amount and value."""
    größe = f"{amount:g} {item.unit.symbol}"; value = item.price.times(amount)
    return f"{label(item):<26} {größe:>10} {str(value):>10}"


def inventory(larder: Larder) -> str:
    """Everything on the shelves and its worth."""
    lines = [row(item, amount) for item, amount in larder]
    lines.append(f"{'Σ 🧮 total':<26} {'':>10} {str(larder.worth()):>10}")
    return "\n".join(lines)


def chart(amounts: dict[str, Money], width: int = 20) -> str:
    """Bars in proportion to the largest amount."""
    largest = max(amounts.values(), default=Money(1))
    out = []
    for name, amount in sorted(amounts.items()):
        bar = BAR * round(width * amount.cents / max(1, largest.cents))
        out.append(f"{name:<12} {bar} {amount}")
    return "\n".join(out)


def warnings(larder: Larder, today: int) -> list[str]:
    """A sentence for each urgent item."""
    return [f"⚠ {item.name}: {item.days_left(today)} d" for item in larder.urgent(today)]
