//! A message body, as far as token payments need it: the bits of the first cell.

/// `internal_transfer` of TEP-74: from a token's master or another holder's contract to a holder's
/// contract.
const INTERNAL_TRANSFER: [u8; 4] = [0x17, 0x8d, 0x45, 0x19];
/// `transfer_notification` of TEP-74: a holder's contract notifies its owner of received tokens,
/// with a small amount of coins to pay for the message.
const TRANSFER_NOTIFICATION: [u8; 4] = [0x73, 0x62, 0xd0, 0x9c];
const MAGIC: [u8; 4] = [0xb5, 0xee, 0x9c, 0x72];
const HAS_INDEX: u8 = 0x80;
const SIZE_BITS: u8 = 0x07;
const IS_EXOTIC: u8 = 0x08;
const HAS_HASHES: u8 = 0x10;

/// The amount in token units of an `internal_transfer`; `None` if the body is anything else.
pub(super) fn internal_transfer(bag: &[u8]) -> Option<u128> {
    let (data, bits) = first_cell(bag)?;
    let rest = data.strip_prefix(&INTERNAL_TRANSFER)?;
    // The query id, then a length in four bits, then an amount of so many bytes, not byte-aligned.
    let rest = rest.get(8..)?;
    let length = usize::from(rest.first()? >> 4);
    if bits < 8 * (4 + 8) + 4 + 8 * length {
        return None;
    }
    let pairs = rest.windows(2).take(length);
    Some(pairs.fold(0, |amount, pair| (amount << 8) | u128::from((pair[0] << 4) | (pair[1] >> 4))))
}

/// True if a message only notifies its receiver of received tokens.
pub(super) fn is_transfer_notification(bag: &[u8]) -> bool {
    first_cell(bag).is_some_and(|(data, _)| data.starts_with(&TRANSFER_NOTIFICATION))
}

/// Data of the first cell of a bag, and its length in bits. Every encoder puts the root first.
fn first_cell(bag: &[u8]) -> Option<(&[u8], usize)> {
    let rest = bag.strip_prefix(&MAGIC)?;
    let (&[flags, offset_bytes], rest) = rest.split_first_chunk()?;
    let (size, offset_bytes) = (usize::from(flags & SIZE_BITS), usize::from(offset_bytes));
    let number = |at: usize| -> Option<usize> {
        let bytes = rest.get(at * size..(at + 1) * size)?;
        (size <= 4).then(|| bytes.iter().fold(0, |n, &byte| (n << 8) | usize::from(byte)))
    };
    let (cells, roots) = (number(0)?, number(1)?);
    let root_list = 3 * size + offset_bytes;
    let root = rest.get(root_list..root_list + size)?;
    let index = if flags & HAS_INDEX == 0 { 0 } else { cells.checked_mul(offset_bytes)? };
    let begin = root_list.checked_add(roots.checked_mul(size)?)?.checked_add(index)?;
    let (&[refs, length], rest) = rest.get(begin..)?.split_first_chunk()?;
    if root.iter().any(|&byte| byte != 0) || refs & (IS_EXOTIC | HAS_HASHES) != 0 {
        return None;
    }
    let data = rest.get(..usize::from(length).div_ceil(2))?;
    let unused = match data.last() {
        // The last set bit terminates the data and is not part of it.
        Some(last) if length % 2 == 1 => usize::try_from(last.trailing_zeros()).ok()? + 1,
        _ => 0,
    };
    Some((data, (8 * data.len()).checked_sub(unused)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bag of one cell with this data; `length` is TON's descriptor, which counts half bytes.
    fn bag(data: &str, length: u8) -> Vec<u8> {
        let data = hex::decode(data).unwrap();
        let size = u8::try_from(data.len() + 2).unwrap();
        let head = [0xb5, 0xee, 0x9c, 0x72, 0x01, 0x01, 0x01, 0x01, 0x00, size, 0x00, 0x00, length];
        [head.as_slice(), &data].concat()
    }

    #[test]
    fn an_amount_is_read_at_its_exact_length() {
        for (text, length, amount) in [
            // 4 bits of length, then the amount: 0x17d7840 = 25,000,000.
            ("178d451900000000000000004017d78408", 33, Some(25_000_000)),
            ("178d4519000000000000000008", 25, Some(0)),
            (
                "178d45190000000000000000fffffffffffffffffffffffffffffff8",
                55,
                Some((1_u128 << 120) - 1),
            ),
            // Another operation, a notification; a length without its bytes; empty data.
            ("7362d09c00000000000000004017d78408", 33, None),
            ("178d45190000000000000000f8", 25, None),
            ("178d4519", 8, None),
            ("", 0, None),
        ] {
            assert_eq!(internal_transfer(&bag(text, length)), amount, "{text}");
        }
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let whole = bag("178d451900000000000000004017d78408", 33);
        for end in 0..whole.len() {
            assert_eq!(internal_transfer(&whole[..end]), None, "{end}");
        }
        for position in 0..whole.len() {
            for value in [0, 1, 7, 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[position] = value;
                internal_transfer(&bytes);
            }
        }
    }
}
