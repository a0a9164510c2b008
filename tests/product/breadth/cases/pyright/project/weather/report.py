from weather.sensors import Sensor, to_fahrenheit


def line(name: str, sensor: Sensor) -> str:
    return f"{name}: {to_fahrenheit(sensor.read()):.1f} F"


def report(sensors: dict[str, Sensor]) -> str:
    return "\n".join(line(name, sensor) for name, sensor in sensors.items())
