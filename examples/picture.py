#!/usr/bin/env python3
"""Runs the commands below in the sample workspaces and draws what they print: `examples/picture.py CODEYARD > docs/picture.svg`.

The servers ty and clangd must be installed (`codeyard servers install ty clangd`).
"""

import re
import subprocess
import sys
from html import escape
from pathlib import Path

WORKSPACES = Path(__file__).parent / "workspaces"
POSITION = '{"filePath": "larder/stock.py", "line": 38, "character": 9}'
# A remark, the folder, the arguments, and how many lines of the output are shown.
RUNS = [
    ("find it by words, without a language server", "c", ["search", "--root", ".", "uncouple a car"], 4),
    ("who uses it? exact, from the language's own server", "python", ["call", "findReferences", POSITION], 9),
    ("and who calls it?", "python", ["call", "incomingCalls", POSITION], 9),
    ("an answer names what it does not cover", "typescript", ["call", "workspaceSymbol", '{"query": "Evaluator", "filePath": "src/sheet.ts"}'], 9),
]
WIDTH, SIZE, LINE, LEFT, TOP = 104, 14, 20, 20, 56
COLOURS = {"remark": "#8b949e", "prompt": "#7ee787", "place": "#79c0ff", "text": "#e6edf3", "mark": "#f2cc60"}


def spans(line, kind):
    """A line as coloured parts."""
    if kind == "command":
        return [("prompt", "$ "), ("text", line)]
    if kind == "remark":
        return [("remark", "# " + line)]
    place = re.match(r"[\w./-]+:\d+(:\d+)?:?", line)
    if place:
        return [("place", place[0]), ("text", line[place.end():])]
    return [("mark" if re.match(r"[A-Z]", line) else "text", line)]


def output(program, folder, arguments, most):
    done = subprocess.run([program, *arguments], cwd=WORKSPACES / folder, capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\n").split("\n")[:most]


def shell(argument):
    return argument if re.fullmatch(r"[\w./-]+", argument) else f"'{argument}'"


def main(program):
    lines = []
    for remark, folder, arguments, most in RUNS:
        lines += [("", "")] if lines else []
        lines += [(remark, "remark"), ("codeyard " + " ".join(map(shell, arguments)), "command")]
        lines += [(line, "output") for line in output(program, folder, arguments, most)]
    lines = [(line if len(line) <= WIDTH else line[: WIDTH - 1] + "…", kind) for line, kind in lines]
    width, height = LEFT * 2 + int(WIDTH * SIZE * 0.602), TOP + LINE * len(lines) + 8
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img"'
          ' aria-label="Four commands of codeyard and what they print">')
    print(f'<rect width="{width}" height="{height}" rx="10" fill="#0d1117"/>')
    for at, colour in enumerate(["#ff5f56", "#ffbd2e", "#27c93f"]):
        print(f'<circle cx="{LEFT + 6 + at * 20}" cy="22" r="6" fill="{colour}"/>')
    font = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
    print(f'<g font-family="{font}" font-size="{SIZE}" xml:space="preserve">')
    for row, (line, kind) in enumerate(lines):
        parts = "".join(f'<tspan fill="{COLOURS[colour]}">{escape(text)}</tspan>' for colour, text in spans(line, kind))
        if line:
            print(f'<text x="{LEFT}" y="{TOP + LINE * row}" xml:space="preserve">{parts}</text>')
    print("</g>\n</svg>")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
