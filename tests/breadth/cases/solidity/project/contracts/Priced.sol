// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

interface Priced {
    function price(uint256 count) external view returns (uint256);
}

library Discount {
    function reduced(uint256 amount, uint256 percent) internal pure returns (uint256) {
        return amount - (amount * percent) / 100;
    }
}
