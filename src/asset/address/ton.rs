//! TON addresses: a workchain and the hash of a contract's initial state.
//!
//! One public key gives any number of deposit addresses: wallet v4R2 keeps a 32-bit subwallet
//! number in its initial state, so each number is another address controlled by the same key.
//! Wallet v5R1 leaves 15 bits for it, which is too few.

use sha2::{Digest, Sha256};

use super::AddressError;

/// The subwallet number that wallets use for the first address of a key on workchain 0.
pub const SUBWALLET_BASE: u32 = 698_983_191;

const TEXT_CHARS: usize = 48;
const BOUNCEABLE: u8 = 0x11;
const NOT_BOUNCEABLE: u8 = 0x51;
const TEST_ONLY: u8 = 0x80;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The code of a wallet contract, as its hash and its depth in the tree of cells.
struct WalletCode {
    hash: [u8; 32],
    depth: u16,
}

const V4R2: WalletCode = WalletCode {
    hash: [
        0xfe, 0xb5, 0xff, 0x68, 0x20, 0xe2, 0xff, 0x0d, 0x94, 0x83, 0xe7, 0xe0, 0xd6, 0x2c, 0x81,
        0x7d, 0x84, 0x67, 0x89, 0xfb, 0x4a, 0xe5, 0x80, 0xc8, 0x78, 0x86, 0x6d, 0x95, 0x9d, 0xab,
        0xd5, 0xc0,
    ],
    depth: 7,
};

/// Account address, independent of its spelling.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TonAddress {
    workchain: i8,
    hash: [u8; 32],
}

impl TonAddress {
    /// The wallet v4R2 of a public key with this subwallet number, on workchain 0.
    pub fn of_wallet(public_key: &[u8; 32], subwallet: u32) -> Self {
        let data = Sha256::new()
            // A cell without references, of 321 bits: these two bytes say so.
            .chain_update([0x00, 0x51])
            .chain_update([0; 4]) // the wallet's message counter
            .chain_update(subwallet.to_be_bytes())
            .chain_update(public_key)
            .chain_update([0x40]) // no plugins, then the mark that ends a bit string
            .finalize();
        Self { workchain: 0, hash: state_hash(&V4R2, &data.into()) }
    }

    /// Reads `UQ…`/`EQ…` in both base64 alphabets, and `workchain:hash`.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        match text.split_once(':') {
            Some((workchain, hash)) => Self::parse_raw(workchain, hash),
            None => Self::parse_friendly(text),
        }
    }

    fn parse_raw(workchain: &str, hash: &str) -> Result<Self, AddressError> {
        let workchain = match workchain {
            "0" => 0,
            "-1" => -1,
            _ => return Err(AddressError::Malformed),
        };
        let mut bytes = [0; 32];
        hex::decode_to_slice(hash, &mut bytes).map_err(|_| AddressError::Malformed)?;
        Ok(Self { workchain, hash: bytes })
    }

    fn parse_friendly(text: &str) -> Result<Self, AddressError> {
        let bytes = from_base64(text).ok_or(AddressError::Malformed)?;
        let (body, checksum) = bytes.split_at(34);
        if crc16(body).to_be_bytes() != checksum {
            return Err(AddressError::Checksum);
        }
        match body[0] {
            BOUNCEABLE | NOT_BOUNCEABLE => {}
            flags if flags & TEST_ONLY != 0 => return Err(AddressError::OtherNetwork),
            _ => return Err(AddressError::Malformed),
        }
        let workchain = i8::from_be_bytes([body[1]]);
        if !matches!(workchain, 0 | -1) {
            return Err(AddressError::Malformed);
        }
        let mut hash = [0; 32];
        hash.copy_from_slice(&body[2..]);
        Ok(Self { workchain, hash })
    }

    /// `workchain:hash`, the one spelling without variants.
    pub fn raw(&self) -> String {
        format!("{}:{}", self.workchain, hex::encode(self.hash))
    }

    /// Non-bounceable form `UQ…`, for wallets. Coins sent to one that is not deployed yet stay
    /// there instead of bouncing back, and our deposit addresses are not deployed.
    pub fn not_bounceable(&self) -> String {
        self.friendly(NOT_BOUNCEABLE)
    }

    /// Bounceable form `EQ…`, for contracts.
    pub fn bounceable(&self) -> String {
        self.friendly(BOUNCEABLE)
    }

    fn friendly(&self, flags: u8) -> String {
        let mut bytes = [0; 36];
        bytes[0] = flags;
        bytes[1..2].copy_from_slice(&self.workchain.to_be_bytes());
        bytes[2..34].copy_from_slice(&self.hash);
        let checksum = crc16(&bytes[..34]);
        bytes[34..].copy_from_slice(&checksum.to_be_bytes());
        to_base64(&bytes)
    }
}

pub(super) fn validate(text: &str) -> Result<String, AddressError> {
    let address = TonAddress::parse(text)?;
    if address.hash == [0; 32] {
        return Err(AddressError::Unspendable);
    }
    Ok(address.not_bounceable())
}

/// The hash of a contract's first state: a cell that refers to its code and to its data.
fn state_hash(code: &WalletCode, data: &[u8; 32]) -> [u8; 32] {
    Sha256::new()
        // Two references and five bits: code and data are there, nothing else is.
        .chain_update([0x02, 0x01, 0x34])
        .chain_update(code.depth.to_be_bytes())
        .chain_update([0; 2]) // the data refers to nothing
        .chain_update(code.hash)
        .chain_update(data)
        .finalize()
        .into()
}

/// CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    })
}

// 36 bytes are exactly 48 characters: no padding and no partly used character, hence no second
// spelling of an address.
fn to_base64(bytes: &[u8; 36]) -> String {
    let mut text = String::with_capacity(TEXT_CHARS);
    for group in bytes.chunks_exact(3) {
        let bits = group.iter().fold(0, |bits: usize, &byte| (bits << 8) | usize::from(byte));
        for shift in [18, 12, 6, 0] {
            text.push(char::from(ALPHABET[(bits >> shift) & 0x3f]));
        }
    }
    text
}

fn from_base64(text: &str) -> Option<[u8; 36]> {
    if text.len() != TEXT_CHARS {
        return None;
    }
    let mut bytes = [0; 36];
    for (group, target) in text.as_bytes().chunks_exact(4).zip(bytes.chunks_exact_mut(3)) {
        let mut bits = 0_u32;
        for &letter in group {
            bits = (bits << 6) | u32::from(base64_digit(letter)?);
        }
        target.copy_from_slice(&bits.to_be_bytes()[1..]);
    }
    Some(bytes)
}

const fn base64_digit(letter: u8) -> Option<u8> {
    match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'-' | b'+' => Some(62),
        b'_' | b'/' => Some(63),
        _ => None,
    }
}
