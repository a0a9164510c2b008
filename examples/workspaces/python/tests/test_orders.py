"""Orders and pricing."""

import unittest

from larder.cli import main, stocked
from larder.events import Bus
from larder.items import Durable, Perishable
from larder.loader import BadLine, parse, parse_line
from larder.money import Money
from larder.orders import Order, State, fill
from larder.pricing import Discount, ListPrice, UseSoon, cheapest
from larder.stock import Larder, OutOfStock


class OrderTest(unittest.TestCase):
    def test_all_or_nothing(self) -> None:
        larder, tea, rum = Larder(), Durable("tea", Money(300)), Durable("rum", Money(1900))
        larder.put(tea, 1)
        order = Order("Ada").add(tea, 1).add(rum, 1)
        with self.assertRaises(OutOfStock):
            fill(order, larder)
        self.assertIs(order.state, State.REFUSED)
        self.assertEqual(larder.amount_of(tea), 1)

    def test_the_cheapest_pricing_is_taken(self) -> None:
        lines = [(Perishable("fish", Money(1000), best_before=2), 1.0)]
        choices = [ListPrice(), Discount(ListPrice(), 10), UseSoon(today=1)]
        self.assertEqual(cheapest(choices, lines).name, "use-soon")

    def test_bad_lines_have_a_number(self) -> None:
        with self.assertRaises(BadLine) as caught:
            list(parse(["", "spice;salt"]))
        self.assertEqual(caught.exception.number, 2)
        self.assertEqual(parse_line(1, "durable;pot;5;").price, Money(5))

    def test_the_sample_runs(self) -> None:
        self.assertEqual(len(list(stocked(Bus()))), 4)
        self.assertEqual(main([]), 0)


if __name__ == "__main__":
    unittest.main()
