"""A language server that sleeps before it starts: python3 slow_start.py SECONDS PROGRAM..."""

import os
import sys
import time

time.sleep(float(sys.argv[1]))
os.execvp(sys.argv[2], sys.argv[2:])
