#!/usr/bin/env bash
# libclang 18.1.1 (PyPI), the Python binding of clang's compilation databases
#
# One would expect: getCompileCommands() returns what compile_commands.json has for the file. Its documentation:
#   "Returns None if filename is not found in the database."
# What happens: it returns None for nothing. For a file that isn't in the database, or isn't there at all, it returns
#   the command of another one with its name replaced, and gives no sign of it; even a Python file is to be compiled
#   as a C++ header. A path that is relative to the directory of the entry isn't found either, so its own command is
#   replaced by such a guess, without -o. The commands that are found have an option that the database doesn't have
#   (--driver-mode).
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib libclang==18.1.1

mkdir p
touch p/a.cpp p/other.cpp p/tool.py
cat > p/compile_commands.json <<JSON
[{"directory": "$tmp/p", "arguments": ["c++", "-DA=1", "-c", "a.cpp", "-o", "a.o"], "file": "a.cpp"}]
JSON
cat > t.py <<'PY'
import os
from clang.cindex import CompilationDatabase

database = CompilationDatabase.fromDirectory("p")
for name in os.path.abspath("p/a.cpp"), "a.cpp", os.path.abspath("p/other.cpp"), os.path.abspath("p/tool.py"), "/none.h":
    for command in database.getCompileCommands(name) or [None]:
        print(f"{name}:", command and " ".join(command.arguments))
PY
got=$(python3 t.py | sed "s|$tmp/||g")
want='p/a.cpp: c++ --driver-mode=g++ -DA=1 -c a.cpp -o a.o
a.cpp: c++ --driver-mode=g++ -DA=1 -c -- a.cpp
p/other.cpp: c++ --driver-mode=g++ -DA=1 -c -- p/other.cpp
p/tool.py: c++ --driver-mode=g++ -DA=1 -c -x c++-header -- p/tool.py
/none.h: c++ --driver-mode=g++ -DA=1 -c -x c++-header -- /none.h'
printf '%s\n%s\n' 'One would expect the command of a.cpp in the first two lines, and None in the others:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
