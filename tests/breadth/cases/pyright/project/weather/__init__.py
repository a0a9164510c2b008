"""A weather station."""
