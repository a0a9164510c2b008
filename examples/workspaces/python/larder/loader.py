"""Reads items from text: one a line, `kind;name;cents;extra`."""

from __future__ import annotations

from typing import Callable, Dict, Iterable, Iterator

from larder.items import Durable, Item, Perishable, Spice
from larder.money import Money

Maker = Callable[[str, Money, str], Item]


class BadLine(ValueError):
    """A line that can't be read."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"line {number}: {reason}")
        self.number = number


def _durable(name: str, price: Money, extra: str) -> Item:
    return Durable(name, price)


def _perishable(name: str, price: Money, extra: str) -> Item:
    return Perishable(name, price, int(extra))


def _spice(name: str, price: Money, extra: str) -> Item:
    return Spice(name, price, int(extra or 0))


MAKERS: Dict[str, Maker] = {"durable": _durable, "perishable": _perishable, "spice": _spice}


def parse_line(number: int, line: str) -> Item:
    """One item."""
    fields = [part.strip() for part in line.split(";")]
    if len(fields) != 4:
        raise BadLine(number, f"4 fields wanted, {len(fields)} found")
    kind, name, cents, extra = fields
    maker = MAKERS.get(kind)
    if maker is None:
        raise BadLine(number, f"no kind {kind!r}")
    return maker(name, Money(int(cents)), extra)


def parse(lines: Iterable[str]) -> Iterator[Item]:
    """All items; empty lines and lines that start with `#` don't count."""
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("#"):
            yield parse_line(number, line)
