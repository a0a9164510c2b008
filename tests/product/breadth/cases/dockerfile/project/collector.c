#include <stdio.h>

int main(void) {
    puts("12.5 C");
    return 0;
}
