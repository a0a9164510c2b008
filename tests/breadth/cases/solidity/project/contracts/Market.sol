// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

import "./Priced.sol";

contract Market {
    Priced private shop;

    constructor(Priced first) {
        shop = first;
    }

    function cheapest(uint256 count) external view returns (uint256) {
        return Discount.reduced(shop.price(count), 5);
    }
}
