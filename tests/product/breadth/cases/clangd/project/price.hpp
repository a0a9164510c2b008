#pragma once
#include <string>

namespace shop {

/// How a price changes before it is paid.
class Discount {
public:
    virtual ~Discount() = default;
    virtual int apply(int cents) const = 0;
};

/// Takes some percent off.
class PercentDiscount : public Discount {
public:
    explicit PercentDiscount(int percent) : percent_(percent) {}
    int apply(int cents) const override;

private:
    int percent_;
};

/// A price for people, such as "12.50 EUR".
std::string format_price(int cents);

}  // namespace shop
