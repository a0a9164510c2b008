"""Readings of a weather station and what is calculated from them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """What one station measured at one time."""

    station: str
    celsius: float


class Store(ABC):
    """Keeps readings."""

    @abstractmethod
    def save(self, reading: Reading) -> None: ...

    @abstractmethod
    def load(self, station: str) -> list[Reading]: ...


def average(readings: list[Reading]) -> float:
    """The mean temperature, 0 without any reading."""
    if not readings:
        return 0.0
    return sum(reading.celsius for reading in readings) / len(readings)
