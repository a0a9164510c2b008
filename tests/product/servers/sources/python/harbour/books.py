"""What is earned."""

from harbour.berths import Berth, Quay
from harbour.ships import Ferry, Ship, Tanker, Tug, describe, heavy


def due(ship: Ship, nights: int) -> float:
    return ship.fee(nights)


def collect(quay: Quay, nights: int) -> float:
    total = 0.0
    for berth in quay.berths:
        if berth.ship is not None:
            total += due(berth.ship, nights)
    return total


def fleet() -> list[Ship]:
    return [Tanker("Oslo", 120.0, 900.0), Ferry("Elba", 60.0), Tug("Bruno", heavy(1.0))]


def main() -> None:
    quay = Quay([Berth(number) for number in range(3)])
    for ship in fleet():
        quay.moor(ship)
    print(collect(quay, 2), quay.board(), [describe(ship) for ship in fleet()])
