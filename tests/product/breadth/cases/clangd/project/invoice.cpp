#include "price.hpp"

#include <iostream>

namespace shop {

void print_line(const std::string& article, int cents) {
    std::cout << article << ": " << format_price(cents) << "\n";
}

}  // namespace shop
