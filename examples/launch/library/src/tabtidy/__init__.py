"""Reads, sorts and prints small tables of text."""

from tabtidy.formats import FormatError, detect_format, read_table, write_table
from tabtidy.table import Row, Table

__all__ = ["FormatError", "Row", "Table", "detect_format", "read_table", "write_table"]

__version__ = "1.2.0"
