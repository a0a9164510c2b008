"""The shelves."""

import unittest

from larder.events import Bus, Journal
from larder.items import Durable, Perishable
from larder.money import Money
from larder.stock import Larder, OutOfStock
from larder.units import CannotConvert, Unit


class StockTest(unittest.TestCase):
    def setUp(self) -> None:
        self.flour = Perishable("flour", Money.of(1), best_before=30)
        self.pan = Durable("pan", Money.of(20))
        self.larder = Larder()

    def test_put_and_take(self) -> None:
        self.larder.put(self.flour, 2)
        self.larder.take(self.flour, 500, Unit.GRAM)
        self.assertEqual(self.larder.amount_of(self.flour), 1.5)
        self.assertEqual(self.larder.worth(), Money(150))

    def test_never_below_zero(self) -> None:
        with self.assertRaises(OutOfStock):
            self.larder.take(self.pan, 1)

    def test_units_must_fit(self) -> None:
        with self.assertRaises(CannotConvert):
            self.larder.put(self.pan, 1, Unit.LITRE)

    def test_listeners_hear(self) -> None:
        journal = Journal()
        bus = Bus()
        bus.subscribe("put", journal)
        Larder(bus).put(self.pan, 1)
        self.assertEqual([event.amount for event in journal.about("pan")], [1])


if __name__ == "__main__":
    unittest.main()
