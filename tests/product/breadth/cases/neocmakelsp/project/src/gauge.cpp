double level() { return 1.2; }
