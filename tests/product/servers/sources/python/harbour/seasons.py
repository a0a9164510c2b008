"""One name, two functions."""

from harbour.ships import heavy


def winter() -> bool:
    return heavy(1.0) > 1.0


if winter():

    def surcharge() -> float:
        return heavy(2.0) + heavy(3.0)

else:

    def surcharge() -> float:
        return heavy(4.0)


def total() -> float:
    return surcharge() + surcharge()
