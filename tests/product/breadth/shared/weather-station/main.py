"""Measures once and prints the report."""

from readings import Reading, average
from report import summary
from store import MemoryStore


def main() -> None:
    store = MemoryStore()
    store.save(Reading("Alpine hut", -3.5))
    store.save(Reading("Alpine hut", -1.5))
    print(summary(store, "Alpine hut"))
    coldest = average(store.load("Alpine hut")[:1])
    print(f"coldest: {coldest}")


if __name__ == "__main__":
    main()
