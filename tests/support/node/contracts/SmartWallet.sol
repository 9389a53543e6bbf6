// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// A payer's wallet with one owner, which decides about its signatures (ERC-1271). They are longer than a key's: the
/// number of the owner, which is zero, and the owner's own signature. Its owner is in slot 0 and its mood in slot 1, and
/// nothing is set by a constructor, so that the code can be placed at any address.
contract SmartWallet {
    address public owner;
    /// Set by a test. 0: it is honest. 1: it refuses everything. 2: it says yes to a question, which has no price of gas,
    /// and no to a transaction. Above: it is honest, after it has burnt so much gas.
    uint256 public mood;

    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        if (mood == 1 || (mood == 2 && tx.gasprice > 0)) return 0xffffffff;
        if (mood > 2) burn(mood);
        bool isOwner = signature.length == 97 && uint256(bytes32(signature[:32])) == 0
            && ecrecover(digest, uint8(signature[96]), bytes32(signature[32:64]), bytes32(signature[64:96])) == owner;
        return isOwner ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }

    function burn(uint256 units) private view {
        uint256 least = gasleft() > units ? gasleft() - units : 0;
        bytes32 hash;
        while (gasleft() > least) hash = keccak256(abi.encode(hash));
    }
}
