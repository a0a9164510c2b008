#include "price.hpp"

#include <iostream>

int pay(const shop::Discount& discount, int cents) {
    return discount.apply(cents);
}

int main() {
    shop::PercentDiscount summer(15);
    const int total = pay(summer, 2450);
    std::cout << shop::format_price(total) << std::endl;
    return 0;
}
