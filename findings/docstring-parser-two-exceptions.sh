#!/usr/bin/env bash
# docstring_parser 0.18.0 (PyPI), parse() with the style found out by itself
#
# One would expect: a field that isn't understood costs that field.
# What happens: `:raises ValueError, KeyError:`, which Sphinx reads as two exceptions, has one word too many for the
#   parser of reStructuredText. It gives up on the whole docstring, the error is swallowed, and the result of another
#   style wins: no parameters, no return value, the fields are part of the long description. The same happens to
#   `:param dict[str, int] name:`.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib docstring_parser==0.18.0

cat > t.py <<'PY'
import docstring_parser

for field in (":raises ValueError: why", ":raises ValueError, KeyError: why", ":param dict[str, int] sizes: how large"):
    d = docstring_parser.parse(f"Short.\n\n:param x: the x\n:returns: a list\n{field}\n")
    print(f"{field!r}: style {d.style.name}, {len(d.params)} parameters, returns {d.returns and d.returns.description!r}")
PY
got=$(python3 t.py)
want="':raises ValueError: why': style REST, 1 parameters, returns 'a list'
':raises ValueError, KeyError: why': style GOOGLE, 0 parameters, returns None
':param dict[str, int] sizes: how large': style GOOGLE, 0 parameters, returns None"
printf 'One would expect style REST with the parameter x three times:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
