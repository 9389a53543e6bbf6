// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// Pays many recipients of an ERC-20 token in one transaction, from the caller's own allowance.
///
/// It moves tokens of its caller alone, keeps nothing, has no owner and calls nothing but the named
/// token: an allowance to it can be used by nobody but who gave it.
contract Multisend {
    /// Pays all recipients, or none of them.
    function send(address token, address[] calldata to, uint256[] calldata amounts) external {
        require(to.length == amounts.length && to.length != 0 && token.code.length != 0);
        uint256 before = held(token, to[0]);
        pull(token, to[0], amounts[0]);
        // A token that keeps a part of what it moves pays less than was signed for.
        require(held(token, to[0]) - before == amounts[0]);
        for (uint256 i = 1; i < to.length; i++) pull(token, to[i], amounts[i]);
    }

    /// `transferFrom(msg.sender, to, amount)` of a token that returns true, or nothing, as USDT does.
    function pull(address token, address to, uint256 amount) private {
        bool done;
        assembly {
            let call_data := mload(0x40)
            mstore(call_data, shl(224, 0x23b872dd))
            mstore(add(call_data, 4), caller())
            mstore(add(call_data, 36), to)
            mstore(add(call_data, 68), amount)
            done := call(gas(), token, 0, call_data, 100, 0, 32)
            if returndatasize() { done := and(done, and(gt(returndatasize(), 31), eq(mload(0), 1))) }
        }
        require(done);
    }

    function held(address token, address who) private view returns (uint256 units) {
        bool done;
        assembly {
            let call_data := mload(0x40)
            mstore(call_data, shl(224, 0x70a08231))
            mstore(add(call_data, 4), who)
            done := and(gt(returndatasize(), 31), staticcall(gas(), token, call_data, 36, 0, 32))
            units := mload(0)
        }
        require(done);
    }
}
