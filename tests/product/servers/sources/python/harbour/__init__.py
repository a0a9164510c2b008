"""Ships, berths and what it costs to lie there."""

from harbour.ships import Ferry as Ferry  # noqa: F401
from harbour.ships import Ship, Tanker, Tug

__all__ = ["Ship", "Tanker", "Tug"]
