"""Tables and their rows."""

from __future__ import annotations

from typing import Callable, Iterable, Iterator


class Row:
    """One row of a table. Its cells are found by the name of their column.

    ``row["name"]`` is the cell, and ``row.get("name", "")`` has a value for columns that don't exist.
    """

    def __init__(self, columns: list[str], cells: list[str]) -> None:
        self._columns = columns
        self._cells = cells

    def __getitem__(self, column: str) -> str:
        return self._cells[self._columns.index(column)]

    def get(self, column: str, default: str = "") -> str:
        """The cell of a column, or ``default`` if there is no such column."""
        return self[column] if column in self._columns else default

    def cells(self) -> list[str]:
        """A copy of all cells, in the order of the columns."""
        return list(self._cells)


class Table:
    """A table of text: the names of its columns, and its rows.

    Example::

        table = Table(["name", "price"], [["tea", "3"], ["cake", "4"]])
        table.sort("price")
    """

    def __init__(self, columns: Iterable[str], rows: Iterable[Iterable[str]] = ()) -> None:
        self.columns = list(columns)
        self._rows = [list(row) for row in rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return (Row(self.columns, row) for row in self._rows)

    def add(self, *cells: str) -> None:
        """Adds a row at the end.

        Raises ``ValueError`` if the number of cells isn't the number of columns.
        """
        if len(cells) != len(self.columns):
            raise ValueError(f"a row has {len(self.columns)} cells, not {len(cells)}")
        self._rows.append(list(cells))

    def sort(self, *columns: str, descending: bool = False) -> None:
        """Sorts the rows by one or more columns.

        Cells that are numbers are compared as numbers, all others as text. Rows with equal cells stay in their order.
        """
        places = [self.columns.index(column) for column in columns]
        self._rows.sort(key=lambda row: [_sort_key(row[place]) for place in places], reverse=descending)

    def where(self, wanted: Callable[[Row], bool]) -> "Table":
        """A new table with the rows for which ``wanted`` is true."""
        return Table(self.columns, (row.cells() for row in self if wanted(row)))

    def to_text(self, gap: int = 2) -> str:
        """The table as text with aligned columns, which are ``gap`` spaces apart."""
        lines = [self.columns, *self._rows]
        widths = [max(len(line[place]) for line in lines) for place in range(len(self.columns))]
        padded = [[cell.ljust(width) for cell, width in zip(line, widths)] for line in lines]
        return "\n".join((" " * gap).join(line).rstrip() for line in padded)

    def to_markdown(self) -> str:
        """The table as a table in Markdown. Bars in cells are escaped."""
        lines = [self.columns, ["---"] * len(self.columns), *self._rows]
        escaped = [[cell.replace("|", "\\|") for cell in line] for line in lines]
        return "\n".join("| " + " | ".join(line) + " |" for line in escaped)


def _sort_key(cell: str) -> tuple[int, float, str]:
    try:
        return (0, float(cell), "")
    except ValueError:
        return (1, 0.0, cell)
