"""Alarms of the frost warning service."""

from readings import Reading


def is_frost(reading: Reading) -> bool:
    limit: int = "zero"
    return reading.celsius < limit


def message(reading: Reading) -> str:
    return reading.warning
