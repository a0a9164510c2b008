#include "price.hpp"

namespace shop {

int PercentDiscount::apply(int cents) const {
    return cents - cents * percent_ / 100;
}

std::string format_price(int cents) {
    std::string rest = std::to_string(cents % 100);
    if (rest.size() < 2) {
        rest = "0" + rest;
    }
    return std::to_string(cents / 100) + "." + rest + " EUR";
}

}  // namespace shop
