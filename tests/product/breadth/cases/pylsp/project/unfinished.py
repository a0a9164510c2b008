"""Not finished."""


def wind(speed: float
    return speed * 2
