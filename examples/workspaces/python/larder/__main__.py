"""`python3 -m larder` prints a sample kitchen's day."""

import sys

from larder.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
