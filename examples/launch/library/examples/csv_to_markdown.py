"""Turn a CSV file into a table in Markdown."""

import sys

from tabtidy import read_table


def main() -> None:
    for path in sys.argv[1:]:
        print(read_table(path).to_markdown())


if __name__ == "__main__":
    main()
