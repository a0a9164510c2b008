"""A store that forgets everything at the end."""

from readings import Reading, Store


class MemoryStore(Store):
    def __init__(self) -> None:
        self.rows: list[Reading] = []

    def save(self, reading: Reading) -> None:
        self.rows.append(reading)

    def load(self, station: str) -> list[Reading]:
        return [row for row in self.rows if row.station == station]
