"""Where ships lie."""

import os  # noqa: F401
from dataclasses import dataclass, field

from harbour.ships import Ship, describe


@dataclass
class Berth:
    """A place for one ship."""

    number: int
    ship: Ship | None = None
    history: list[Ship] = field(default_factory=list)

    def take(self, ship: Ship) -> bool:
        if self.ship is not None:
            return False
        self.ship = ship
        self.history.append(ship)
        return True

    def leave(self) -> Ship | None:
        ship, self.ship = self.ship, None
        return ship


class Quay:
    def __init__(self, berths: list[Berth]) -> None:
        self.berths = berths

    def free(self) -> Berth | None:
        for berth in self.berths:
            if berth.ship is None:
                return berth
        return None

    def moor(self, ship: Ship) -> Berth | None:
        berth = self.free()
        if berth is not None:
            berth.take(ship)
        return berth

    def board(self) -> list[str]:
        return [describe(berth.ship) for berth in self.berths if berth.ship is not None]
