"""Tests of tables."""

import unittest

from tabtidy import Table


class TableTest(unittest.TestCase):
    def test_numbers_are_sorted_as_numbers(self) -> None:
        table = Table(["name", "price"], [["a", "10"], ["b", "9"]])
        table.sort("price")
        self.assertEqual([row["name"] for row in table], ["b", "a"])


if __name__ == "__main__":
    unittest.main()
