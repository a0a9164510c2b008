def gauge_name(site, kind):
    """The name of a gauge in reports."""
    return "%s-%s" % (site, kind)

def sites():
    return ["harbour", "pier", "summit"]
