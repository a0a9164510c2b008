"""A host's facts in words that don't depend on the machine: no times, no lengths of paths."""

from __future__ import annotations

import re
from typing import Any

Json = Any
GOOD = {"yes", "all", "sentence"}


def of_result(result: Json) -> Json:
    """The summary of a host's result."""
    runs = result["runs"]
    first = next(iter(runs.values()))
    summary: Json = {"title": result["title"], "packages": result["packages"], "revisions": first["revisions"]}
    summary["speaks"] = first["agreed on"] if first["connects"] else None
    for name in ("agent", "safe", "code"):
        if name in runs:
            summary[name] = of_run(runs[name])
    if "stdio" in runs:
        summary["stdio"] = of_run(runs["stdio"]) | {"revisions": runs["stdio"]["revisions"]}
    if "ask" in runs:
        summary["ask"] = of_question(runs["ask"])
    return summary


def of_run(run: Json) -> Json:
    """One word for each scenario, or why there is none."""
    if not run["connects"]:
        return {"connects": "no"}
    words: Json = {"connects": "after a search" if run["after a search"] else "yes"}
    for name, facts in run["scenarios"].items():
        if name == "small":
            words["sees"] = form(facts["sees"])
        words[name] = word(name, facts)
        # The model calls once.
        if name == "nowhere" and facts["sent"] > 1:
            words["refused call"] = f"sent {facts['sent']} times"
    return words


def word(name: str, facts: Json) -> str:
    if facts["ended"]:
        return "ends the run"
    if name == "small":
        return "yes" if facts["good"] else "no"
    if name == "long":
        return long_word(facts)
    if name == "cold":
        return cold_word(facts)
    return "sentence" if facts["good"] else missing_word(facts["sees"])


def missing_word(sees: str) -> str:
    return "nothing" if sees.startswith("nothing") else "no sentence"


def long_word(facts: Json) -> str:
    if facts["good"]:
        return "all"
    if facts["sees"].startswith("nothing"):
        return "cut" if facts["found"] else "nothing"
    if facts["sees"].startswith("file"):
        return "in a file"
    if facts["sees"].startswith("cut"):
        return form(facts["sees"])
    return "first page, no cursor"


def cold_word(facts: Json) -> str:
    if not facts["answered"]:
        return "nothing" if facts["sees"].startswith("nothing") else "never"
    # Some libraries ask again by themselves.
    by_itself = facts["calls"] == 1 and facts["sent"] > 1
    return "yes" if facts["good"] or by_itself else "no time to wait"


def form(sees: str) -> str:
    """What is seen, with lengths rounded so that paths don't matter."""
    if sees.startswith("file"):
        return "in a file"
    found = re.match(r"cut to (\d+) characters", sees)
    if found:
        thousands = round(int(found.group(1)) / 1000)
        return f"cut at {thousands},000 characters" if thousands else "cut"
    return "nothing" if sees.startswith("nothing") else sees


def of_question(run: Json) -> Json:
    """What becomes of a question to a person."""
    if not run["connects"]:
        return {"connects": "no"}
    words: Json = {"question": run["permission"]}
    if "ask" in run["scenarios"]:
        words["ask"] = word("ask", run["scenarios"]["ask"])
    return words
