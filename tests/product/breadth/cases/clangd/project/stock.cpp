#include "price.hpp"

namespace shop {

int remaining(int delivered, int sold) {
    const std::string left = delivered - sold;
    return left;
}

}  // namespace shop
