// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

interface Wallet {
    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4);
}

/// A token with authorizations (EIP-3009), with the checks and the order of Circle's USDC, which can lie about them. Where
/// it is to be honest, tests have Circle's own code. Balances are in slot 0, and nothing is set by a constructor, so that
/// the code can be placed at any address.
contract Authorized {
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(bytes32 => bool)) private used;
    /// Set by a test. 0: it does not. 1: authorized calls succeed, and move and log nothing. 2: what moves
    /// is not logged.
    uint8 public lies;

    string public constant name = "USD Coin";
    string public constant version = "2";
    uint8 public constant decimals = 6;

    bytes32 private constant DOMAIN =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant TRANSFER = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );

    event Transfer(address indexed from, address indexed to, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);

    constructor() {
        balanceOf[msg.sender] = 1 << 200;
        emit Transfer(address(0), msg.sender, 1 << 200);
    }

    function totalSupply() external pure returns (uint256) {
        return 1 << 200;
    }

    function lie(uint8 how) external {
        lies = how;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function authorizationState(address authorizer, bytes32 nonce) external view returns (bool) {
        return used[authorizer][nonce];
    }

    function transferWithAuthorization(
        address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce,
        uint8 v, bytes32 r, bytes32 s
    ) external {
        carryOut(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    function transferWithAuthorization(
        address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce,
        bytes memory signature
    ) external {
        carryOut(from, to, value, validAfter, validBefore, nonce, signature);
    }

    function carryOut(
        address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce,
        bytes memory signature
    ) private {
        require(block.timestamp > validAfter, "FiatTokenV2: authorization is not yet valid");
        require(block.timestamp < validBefore, "FiatTokenV2: authorization is expired");
        require(!used[from][nonce], "FiatTokenV2: authorization is used or canceled");
        bytes32 fields = keccak256(abi.encode(TRANSFER, from, to, value, validAfter, validBefore, nonce));
        require(isSignedBy(from, keccak256(abi.encodePacked("\x19\x01", separator(), fields)), signature),
            "FiatTokenV2: invalid signature");
        used[from][nonce] = true;
        emit AuthorizationUsed(from, nonce);
        if (lies != 1) move(from, to, value);
    }

    function separator() private view returns (bytes32) {
        return keccak256(
            abi.encode(DOMAIN, keccak256(bytes(name)), keccak256(bytes(version)), block.chainid, address(this))
        );
    }

    function isSignedBy(address signer, bytes32 digest, bytes memory signature) private view returns (bool) {
        if (signer.code.length > 0) return Wallet(signer).isValidSignature(digest, signature) == 0x1626ba7e;
        if (signature.length != 65) return false;
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly {
            r := mload(add(signature, 0x20))
            s := mload(add(signature, 0x40))
            v := byte(0, mload(add(signature, 0x60)))
        }
        require(uint256(s) <= 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0, "ECRecover: s");
        require(v == 27 || v == 28, "ECRecover: v");
        return ecrecover(digest, v, r, s) == signer;
    }

    function move(address from, address to, uint256 value) private {
        require(balanceOf[from] >= value, "ERC20: transfer amount exceeds balance");
        balanceOf[from] -= value;
        balanceOf[to] += value;
        if (lies != 2) emit Transfer(from, to, value);
    }
}
