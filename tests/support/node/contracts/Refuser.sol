// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// Takes no coins: a transaction with value to it is mined and fails.
contract Refuser {
    receive() external payable {
        revert("refused");
    }
}
