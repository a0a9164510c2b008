"""Columns: astral and combining characters and tabs before the names. This file gets Windows line ends."""

from harbour.books import due
from harbour.ships import Ferry, Ship, Tug, describe

𠮷 = Tug("𝒳", 1.0); 名前 = describe(𠮷); café = due(𠮷, 2)

flags = {"🇫🇷": describe(𠮷), "𝒳𝒳": due(𠮷, 1), "eé": café}


def größe(ship: Ship, zeichen: str = "🚢𝒳", nights: int = 1) -> float:
	return due(ship,	nights) + len("👩‍👩‍👧") + ship.weight() + len(zeichen)


def straße(𠮷: Ship) -> str:
    return "🚢" + describe(𠮷) + "𝒳 é" + 𠮷.label() + str(größe(𠮷, "𝒳", 3))


class Fähre(Ferry):
    def weight(self) -> float: "🚢"; return super().weight() + größe(self, "🧮")


alle = ["𝒳", straße(Fähre("eé", 1.0)), straße(𠮷), 名前]; summe = ("🚢", sum(map(größe, [𠮷])), flags)
