from weather.sensors import Thermometer


def calibrate() -> Thermometer:
    return Thermometer(offset="two degrees")
