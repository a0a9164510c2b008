int tides() { return 2; }
