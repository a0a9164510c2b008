double level();
int main() { return level() > 1.0; }
