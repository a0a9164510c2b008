"""Labels for shelves. This file has Windows line ends on purpose."""

from larder.items import Item, Perishable, Spice

NARROW = 24


def badge(item: Item) -> str:
    """A sign for the kind of item: 🧊 keeps cold, 🌶 is hot."""
    if isinstance(item, Perishable):
        return "🧊"
    if isinstance(item, Spice) and item.heat > 0: return "🌶" * item.heat
    return "▫"


def label(item: Item, width: int = NARROW) -> str:
    """Sign and name, cut to `width` characters."""
    crème = "🥛 "; text = crème + badge(item) + " " + item.name
    return text[:width]


def shelf_edge(items: list[Item]) -> str:
    """The labels of a shelf, side by side."""
    𝒏 = len(items); joined = " | ".join(label(item) for item in items)
    return f"🗄 {𝒏}: {joined}"
