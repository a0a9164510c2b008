load("tools/targets.bzl", "gauge_name")

def storm_flood(level)
    return gauge_name("mast", "float")
