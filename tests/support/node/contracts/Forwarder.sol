// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// Pays on by an internal transfer, as exchange wallets do: no block body shows the receiver.
contract Forwarder {
    function forward(address payable to) external payable {
        (bool ok, ) = to.call{value: msg.value}("");
        require(ok, "forward");
    }
}
