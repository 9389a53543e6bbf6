// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// Everything a contract can say that is not a payment, or not the payment it seems to be.
contract Hostile {
    mapping(address => uint256) public balanceOf;

    event Transfer(address indexed from, address indexed to, uint256 value);

    bytes32 private constant TOPIC = keccak256("Transfer(address,address,uint256)");

    /// A Transfer event with nothing behind it; also the way to state an absurd amount.
    function pretend(address to, uint256 value) external {
        emit Transfer(msg.sender, to, value);
    }

    /// A fee-on-transfer token: a tenth goes elsewhere, and both movements are logged.
    function transferWithFee(address to, uint256 value) external {
        uint256 fee = value / 10;
        balanceOf[to] += value - fee;
        balanceOf[address(this)] += fee;
        emit Transfer(msg.sender, address(this), fee);
        emit Transfer(msg.sender, to, value - fee);
    }

    /// The old habit of refusing without a revert: no event, and a `false` that nobody reads.
    function refuse(address, uint256) external pure returns (bool) {
        return false;
    }

    /// ERC-721 signs with the same topic, but the id is a fourth topic and there is no data.
    function transferNft(address to, uint256 id) external {
        bytes32 topic = TOPIC;
        assembly {
            log4(0, 0, topic, caller(), to, id)
        }
    }

    /// A fourth topic over data that looks like an amount.
    function transferWithFourTopics(address to, uint256 value) external {
        bytes32 topic = TOPIC;
        assembly {
            mstore(0, value)
            log4(0, 32, topic, caller(), to, value)
        }
    }

    /// Addresses as data instead of topics, as some early tokens did.
    function transferUnindexed(address to, uint256 value) external {
        bytes32 topic = TOPIC;
        assembly {
            mstore(0, caller())
            mstore(32, to)
            mstore(64, value)
            log1(0, 96, topic)
            mstore(64, 128)
        }
    }

    /// The right topics over data that is not one word.
    function transferWithData(address to, uint256 value, uint256 size) external {
        bytes32 topic = TOPIC;
        assembly {
            mstore(0, value)
            mstore(32, value)
            log3(0, size, topic, caller(), to)
        }
    }

    /// A receiver with dirt above its 160 bits: a careless reader cuts it into an address that was never named.
    function transferToWideWord(address to, uint256 value) external {
        bytes32 topic = TOPIC;
        assembly {
            mstore(0, value)
            log3(0, 32, topic, caller(), or(to, shl(200, 1)))
        }
    }
}
