"""Reports for people."""

from readings import Store, average


def summary(store: Store, station: str) -> str:
    """One line about a station."""
    rows = store.load(station)
    mean = average(rows)
    if not rows:
        return f"{station}: nothing measured"
    return f"{station}: {mean:.1f} degrees of {len(rows)} readings"
