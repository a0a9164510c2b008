"""Alarms of the frost warning service."""

import os

from readings import Reading


def is_frost(reading: Reading) -> bool:
    return reading.celsius < 0 == True
