"""Sensors and their readings."""

from abc import ABC, abstractmethod


class Sensor(ABC):
    """Something that measures."""

    @abstractmethod
    def read(self) -> float: ...


class Thermometer(Sensor):
    def __init__(self, offset: float = 0.0) -> None:
        self.offset = offset

    def read(self) -> float:
        return 12.5 + self.offset


def to_fahrenheit(celsius: float) -> float:
    """Converts a temperature."""
    return celsius * 9 / 5 + 32
