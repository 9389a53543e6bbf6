// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// An honest ERC-20 with 6 decimals, its whole supply with whoever deployed it.
contract Token {
    uint8 public constant decimals = 6;
    // Large enough to move amounts that do not fit 128 bits.
    uint256 public constant totalSupply = 1 << 200;

    mapping(address => uint256) public balanceOf;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor() {
        balanceOf[msg.sender] = totalSupply;
        emit Transfer(address(0), msg.sender, totalSupply);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(to, value);
        return true;
    }

    /// Several payments in one transaction, as exchanges make them.
    function payAll(address[] calldata to, uint256[] calldata value) external {
        for (uint256 i = 0; i < to.length; i++) move(to[i], value[i]);
    }

    function move(address to, uint256 value) private {
        require(balanceOf[msg.sender] >= value, "balance");
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value;
        emit Transfer(msg.sender, to, value);
    }
}
