from weather import sensors


def too_hot(sensor: sensors.Sensor) -> bool:
    return sensors.to_fahrenheit(sensor.read()) > 100
