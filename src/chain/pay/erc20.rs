//! Tokens of ERC-20 shape: the log that proves a payment.

use serde::Deserialize;

use crate::{
    chain::evm::quantity,
    payout::{
        eip1559,
        multisend::{self, Act},
        transfer::{self, Asset},
    },
    x402,
};

/// `Transfer(address,address,uint256)`.
const TRANSFER_TOPIC: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const WORD: usize = 32;

/// A token payment as its signed bytes promise it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Promise {
    contract: String,
    /// The account that pays, where it is not the sender of the transaction.
    payer: Option<String>,
    /// Recipients and amounts, sorted.
    moves: Vec<(String, u128)>,
}

impl Promise {
    /// `None` for bytes that pay no token. It is asked for at every look, so it is read and not
    /// verified.
    pub fn of(raw: &[u8]) -> Option<Self> {
        let transaction = eip1559::read_own(raw).ok()?;
        if let Some((token, signed)) = x402::call::read(&transaction) {
            let moves = vec![(spelt(&signed.to), signed.value.to_u128()?)];
            return Some(Self { contract: spelt(&token), payer: Some(spelt(&signed.from)), moves });
        }
        let (token, outputs) = match (transfer::paid(&transaction), multisend::read(&transaction)) {
            (Some((Asset::Token(token), output)), _) => (token, vec![output]),
            (None, Some(Act::Pays { token, outputs, .. })) => (token, outputs),
            (Some((Asset::Coin, _)) | None, _) => return None,
        };
        let moves = outputs.iter().map(|output| (spelt(&output.to), output.amount.get()));
        let mut moves: Vec<_> = moves.collect();
        moves.sort_unstable();
        Some(Self { contract: spelt(&token), payer: None, moves })
    }
}

fn spelt(address: &[u8; 20]) -> String {
    format!("0x{}", hex::encode(address))
}

/// A log of a receipt.
#[derive(Deserialize)]
pub(super) struct Log<'a> {
    pub address: &'a str,
    #[serde(borrow)]
    pub topics: Vec<&'a str>,
    pub data: &'a str,
}

/// The promise as the logs of a transaction that was not reverted show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    Yes,
    /// The token logged no movement out of the sender. That proves nothing: nodes leave logs out,
    /// so money that was to be paid may have been paid.
    NoLog,
    /// Something else left the sender than was signed for.
    Otherwise,
}

/// Only the token's own logs of exactly these movements prove them, one log for each. A call that
/// succeeds may have moved nothing, or less.
pub(super) fn kept(promise: &Promise, sender: &str, logs: &[Log<'_>]) -> Kept {
    let sender = promise.payer.as_deref().unwrap_or(sender);
    let from_sender = logs.iter().filter(|log| {
        log.address.eq_ignore_ascii_case(&promise.contract)
            && log.topics.len() == 3
            && log.topics[0].eq_ignore_ascii_case(TRANSFER_TOPIC)
            && names(log.topics[1], sender)
    });
    let moved = from_sender.map(|log| {
        let to = quantity::address_in_word(log.topics[2])?;
        Some((to, word(log.data)?))
    });
    let moved: Vec<_> = moved.collect();
    if moved.is_empty() {
        return Kept::NoLog;
    }
    let Some(mut moved) = moved.into_iter().collect::<Option<Vec<_>>>() else {
        return Kept::Otherwise;
    };
    moved.sort_unstable();
    if moved == promise.moves { Kept::Yes } else { Kept::Otherwise }
}

fn names(topic: &str, address: &str) -> bool {
    quantity::address_in_word(topic).is_some_and(|named| named.eq_ignore_ascii_case(address))
}

/// The one word of a log's data, if it fits 128 bits.
fn word(data: &str) -> Option<u128> {
    let digits = data.strip_prefix("0x").filter(|digits| digits.len() == 2 * WORD)?;
    u128::from_str_radix(digits.trim_start_matches('0'), 16)
        .ok()
        .or_else(|| digits.bytes().all(|b| b == b'0').then_some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0xc2132d05d31c914a87c6611c10748aeb04b58e8f";
    const SENDER: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
    const TO: &str = "0x00000000000000000000000000000000000000aa";

    fn promise() -> Promise {
        Promise { contract: TOKEN.into(), payer: None, moves: vec![(TO.into(), 1_500_000)] }
    }

    fn verdict(logs: &[(&str, &str, &str, u128)]) -> Kept {
        verdict_on(&promise(), logs)
    }

    fn verdict_on(promise: &Promise, logs: &[(&str, &str, &str, u128)]) -> Kept {
        let topic = |address: &str| format!("0x{:0>64}", address.trim_start_matches("0x"));
        let rows: Vec<_> = logs
            .iter()
            .map(|(at, from, to, amount)| (*at, topic(from), topic(to), format!("0x{amount:064x}")))
            .collect();
        let logs: Vec<_> = rows
            .iter()
            .map(|(address, from, to, data)| Log {
                address,
                topics: vec![TRANSFER_TOPIC, from, to],
                data,
            })
            .collect();
        kept(promise, SENDER, &logs)
    }

    #[test]
    fn only_the_token_s_own_log_of_exactly_this_movement_proves_a_payment() {
        let other = "0x00000000000000000000000000000000000000bb";
        assert_eq!(verdict(&[(TOKEN, SENDER, TO, 1_500_000)]), Kept::Yes);
        // A hostile contract may log whatever it likes beside it.
        assert_eq!(verdict(&[(other, SENDER, TO, 7), (TOKEN, SENDER, TO, 1_500_000)]), Kept::Yes);
        assert_eq!(verdict(&[(TOKEN, other, TO, 5), (TOKEN, SENDER, TO, 1_500_000)]), Kept::Yes);
        assert_eq!(verdict(&[]), Kept::NoLog);
        assert_eq!(verdict(&[(other, SENDER, TO, 1_500_000)]), Kept::NoLog);
        assert_eq!(verdict(&[(TOKEN, other, TO, 1_500_000)]), Kept::NoLog);
        assert_eq!(verdict(&[(TOKEN, SENDER, TO, 1_499_999)]), Kept::Otherwise);
        assert_eq!(verdict(&[(TOKEN, SENDER, other, 1_500_000)]), Kept::Otherwise);
        assert_eq!(verdict(&[(TOKEN, SENDER, TO, 1_500_000); 2]), Kept::Otherwise);
    }

    /// The sender of a settlement pays the gas alone; the money is another's.
    #[test]
    fn a_settlement_is_proven_by_the_payer_s_movement() {
        let payer = "0x00000000000000000000000000000000000000cc";
        let promise = Promise { payer: Some(payer.into()), ..promise() };
        assert_eq!(verdict_on(&promise, &[(TOKEN, payer, TO, 1_500_000)]), Kept::Yes);
        assert_eq!(verdict_on(&promise, &[(TOKEN, SENDER, TO, 1_500_000)]), Kept::NoLog);
    }

    #[test]
    fn of_many_recipients_each_needs_a_log_of_his_own() {
        let other = "0x00000000000000000000000000000000000000bb";
        let moves = vec![(TO.to_owned(), 5), (TO.to_owned(), 5), (other.to_owned(), 7)];
        let promise = Promise { contract: TOKEN.into(), payer: None, moves };
        let (twice, once) = ((TOKEN, SENDER, TO, 5), (TOKEN, SENDER, other, 7));
        assert_eq!(verdict_on(&promise, &[once, twice, twice]), Kept::Yes);
        for short in [vec![once, twice], vec![twice, twice], vec![once, once, twice]] {
            assert_eq!(verdict_on(&promise, &short), Kept::Otherwise, "{short:?}");
        }
        assert_eq!(verdict_on(&promise, &[once, twice, twice, twice]), Kept::Otherwise);
        assert_eq!(verdict_on(&promise, &[]), Kept::NoLog);
    }
}
