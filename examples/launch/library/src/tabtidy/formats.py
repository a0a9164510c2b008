"""Files with tables: reading, writing, and finding out their format."""

from __future__ import annotations

import csv
from pathlib import Path

from tabtidy.table import Table


class FormatError(ValueError):
    """A file that isn't a table, with the number of the line that is wrong."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line


def detect_format(text: str) -> str:
    """The format of a text: ``"tsv"`` if its first line has tabs, else ``"csv"``."""
    first = text.splitlines()[0] if text else ""
    return "tsv" if "\t" in first else "csv"


def read_table(path: str | Path, encoding: str = "utf-8") -> Table:
    """Reads the table in a file. Its first line has the names of the columns.

    Raises ``FormatError`` if a row has another number of cells than the first line.
    """
    text = Path(path).read_text(encoding=encoding)
    delimiter = "\t" if detect_format(text) == "tsv" else ","
    lines = list(csv.reader(text.splitlines(), delimiter=delimiter))
    if not lines:
        raise FormatError(1, "the file is empty")
    table = Table(lines[0])
    for number, cells in enumerate(lines[1:], start=2):
        if len(cells) != len(table.columns):
            raise FormatError(number, f"{len(cells)} cells instead of {len(table.columns)}")
        table.add(*cells)
    return table


def write_table(table: Table, path: str | Path, encoding: str = "utf-8") -> None:
    """Writes a table to a file: as TSV if the file's name ends with ``.tsv``, else as CSV."""
    delimiter = "\t" if str(path).endswith(".tsv") else ","
    with Path(path).open("w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(table.columns)
        for row in table:
            writer.writerow(row.cells())
