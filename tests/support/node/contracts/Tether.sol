// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// A token of USDT's kind: its calls return nothing, an allowance must come from zero, recipients
/// can be refused, and it can keep a part of what it moves.
contract Tether {
    uint8 public constant decimals = 6;
    uint256 public constant totalSupply = 1 << 64;

    // In slot 0, where tests write the first owner's balance.
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    uint256 public kept;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    function transfer(address to, uint256 value) external {
        move(msg.sender, to, value);
    }

    function approve(address spender, uint256 value) external {
        require(value == 0 || allowance[msg.sender][spender] == 0, "from zero");
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
    }

    function transferFrom(address from, address to, uint256 value) external {
        allowance[from][msg.sender] -= value;
        move(from, to, value);
    }

    function move(address from, address to, uint256 value) private {
        uint256 refused;
        // Tests refuse a recipient by the slot of his address.
        assembly { refused := sload(to) }
        require(refused == 0, "refused");
        balanceOf[from] -= value;
        balanceOf[to] += value - kept;
        emit Transfer(from, to, value - kept);
    }
}
