double level();
int main() { return level() > 9.0; }
