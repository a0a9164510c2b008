"""Build a table row by row and write it to a file."""

from tabtidy import Table, write_table

table = Table(["name", "price"])
table.add("tea", "3")
table.add("cake", "4")
write_table(table, "prices.tsv")
