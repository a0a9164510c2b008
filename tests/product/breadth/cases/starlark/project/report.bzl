load("tools/targets.bzl", "gauge_name", "sites")

def names(kind):
    found = []
    for site in sites():
        found.append(gauge_name(site, kind))
    return found

RADAR = names("radar")
