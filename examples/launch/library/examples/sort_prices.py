"""Sort a price list.

Reads a file with prices and prints the most expensive things first.
"""

from tabtidy import read_table

table = read_table("prices.csv")
table.sort("price", "name", descending=True)
for row in list(table)[:3]:
    print(row["name"], row["price"])
