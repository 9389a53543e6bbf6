//! Coin selection and fees on bitcoin-like networks: inputs, outputs, change and fee of a
//! transaction. Pure: no key, no node.
//!
//! A fee is exactly the difference of inputs and outputs, so every sum here is exact to the unit or
//! refused.

use bitcoin::{Script, VarInt};

use super::quote;
use crate::asset::Family;

/// Version and lock time.
const FIXED_BYTES: u64 = 8;
/// Outpoint, sequence, and the length of an empty script.
const INPUT_BYTES: u64 = 41;
/// A signature of at most 72 bytes and a key of 33, each after its length.
const UNLOCKING_BYTES: u64 = 107;
/// Amount and the length of a script of less than 253 bytes.
const OUTPUT_BYTES: u64 = 9;
const WITNESS_SCALE: u64 = 4;
/// Maximum number of inputs: nodes do not relay transactions above 100,000 virtual bytes.
const COINS_MAX: usize = 500;

/// Lock of a coin, which decides the place and the cost of its signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// P2WPKH: signature in the witness.
    Witness,
    /// P2PKH: signature in the input itself.
    Legacy,
}

impl Lock {
    /// Lock of a family's deposit addresses; `None` for families without outputs.
    pub const fn of(family: Family) -> Option<Self> {
        match family {
            Family::Bitcoin | Family::Litecoin => Some(Self::Witness),
            Family::Dogecoin => Some(Self::Legacy),
            Family::Evm
            | Family::Tron
            | Family::Solana
            | Family::Near
            | Family::Ton
            | Family::Thorchain => None,
        }
    }

    /// Lock of an output with this script; `None` if spending it takes anything but one key and its
    /// signature.
    pub fn of_script(script: &[u8]) -> Option<Self> {
        let script = Script::from_bytes(script);
        if script.is_p2wpkh() {
            Some(Self::Witness)
        } else if script.is_p2pkh() {
            Some(Self::Legacy)
        } else {
            None
        }
    }
}

/// An unspent output, named as deposits are: `txid:n`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coin {
    pub outpoint: String,
    pub amount: u64,
}

/// An output to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pay {
    pub script: Vec<u8>,
    pub amount: u64,
}

/// Limits of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    pub lock: Lock,
    /// Fee rate in the smallest coin per virtual byte.
    pub fee_rate: u64,
    /// Additional fee for the parent transactions that this one bumps as a child (CPFP).
    pub fee_extra: u64,
    /// Maximum fee; the rate is lowered to it.
    pub fee_max: u64,
    /// Minimum relay fee rate of nodes.
    pub fee_rate_floor: u64,
    /// Maximum fee at that rate, if `fee_max` does not even pay for it.
    pub fee_limit: u64,
    /// Dust limit: a smaller amount is not an output.
    pub dust: u64,
    /// If true, every coin is spent, needed or not.
    pub every_coin: bool,
    /// Length of the change script.
    pub change_script_bytes: usize,
}

/// A transaction before its signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spend {
    pub coins: Vec<Coin>,
    pub fee: u64,
    /// Change; `None` if it would be dust, which is then added to the fee.
    pub change: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SpendError {
    #[error("there is not enough to spend")]
    TooLittle,
    #[error("it has too many inputs for one transaction")]
    TooManyCoins,
    #[error("its fee would exceed the quote")]
    FeeTooHigh,
    #[error("it has no recipient")]
    Nothing,
}

/// Selects coins, the largest first, and computes the fee. If the amount came in too many pieces
/// for `fee_max`, the fee is the minimum that nodes relay.
pub fn plan(coins: &[Coin], outputs: &[Pay], terms: &Terms) -> Result<Spend, SpendError> {
    match within(coins, outputs, terms) {
        Err(SpendError::FeeTooHigh) if terms.fee_limit > terms.fee_max => {
            let (fee_rate, fee_max) = (terms.fee_rate_floor, terms.fee_limit);
            within(coins, outputs, &Terms { fee_rate, fee_max, ..*terms })
        }
        planned => planned,
    }
}

fn within(coins: &[Coin], outputs: &[Pay], terms: &Terms) -> Result<Spend, SpendError> {
    let add = |sum: u64, amount: u64| sum.checked_add(amount).ok_or(SpendError::TooLittle);
    let paid = outputs.iter().try_fold(0, |sum, output| add(sum, output.amount))?;
    let mut sorted = coins.to_vec();
    sorted.sort_by(|a, b| b.amount.cmp(&a.amount).then_with(|| a.outpoint.cmp(&b.outpoint)));
    let (mut chosen, mut held) = (Vec::new(), 0_u64);
    let (mut last, mut burning) = (SpendError::TooLittle, None);
    for coin in sorted {
        held = add(held, coin.amount)?;
        chosen.push(coin);
        if terms.every_coin && chosen.len() < coins.len() {
            continue;
        }
        if chosen.len() > COINS_MAX {
            last = SpendError::TooManyCoins;
            break;
        }
        match priced(&chosen, held.checked_sub(paid), outputs, terms) {
            Ok((fee, change)) => {
                let spend = Spend { coins: chosen.clone(), fee, change };
                if fee <= terms.fee_max {
                    return Ok(spend);
                }
                // A rest on top of the maximum fee, even if it is dust, belongs to the customer:
                // with one more coin it may return as change.
                burning.get_or_insert(spend);
            }
            Err(error) => last = error,
        }
    }
    burning.ok_or(last)
}

/// Fee and change of a transaction with `left` above its payments.
fn priced(
    coins: &[Coin],
    left: Option<u64>,
    outputs: &[Pay],
    terms: &Terms,
) -> Result<(u64, Option<u64>), SpendError> {
    let left = left.ok_or(SpendError::TooLittle)?;
    let scripts = outputs.iter().map(|output| output.script.len());
    let with_change = scripts.clone().chain([terms.change_script_bytes]);
    match affordable(virtual_bytes(terms.lock, coins.len(), with_change), terms) {
        Ok(fee) => {
            if let Some(change) = left.checked_sub(fee).filter(|change| *change >= terms.dust) {
                return Ok((fee, Some(change)));
            }
        }
        // The rest may be added to the fee of a transaction without change, but only up to the
        // maximum fee: customers' money is not burnt.
        Err(error) if left > terms.fee_max => return Err(error),
        Err(_) => {}
    }
    if outputs.is_empty() {
        return Err(SpendError::Nothing);
    }
    let least = affordable(virtual_bytes(terms.lock, coins.len(), scripts), terms)?;
    if left >= least { Ok((left, None)) } else { Err(SpendError::TooLittle) }
}

fn affordable(bytes: u64, terms: &Terms) -> Result<u64, SpendError> {
    let at = |rate: u64| bytes.checked_mul(rate)?.checked_add(terms.fee_extra);
    let wanted = at(terms.fee_rate).ok_or(SpendError::FeeTooHigh)?;
    let least = at(terms.fee_rate_floor).ok_or(SpendError::FeeTooHigh)?;
    if least > terms.fee_max { Err(SpendError::FeeTooHigh) } else { Ok(wanted.min(terms.fee_max)) }
}

/// Size of a signed transaction, or a few bytes more: signatures differ.
pub fn virtual_bytes(lock: Lock, coins: usize, scripts: impl Iterator<Item = usize>) -> u64 {
    let wide = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let (mut count, mut bytes) = (0, FIXED_BYTES);
    for script in scripts {
        count += 1;
        bytes += OUTPUT_BYTES + wide(script);
    }
    let length = |n: usize| wide(VarInt::from(n).size());
    bytes += length(coins) + length(count) + wide(coins) * INPUT_BYTES;
    match lock {
        Lock::Legacy => bytes + wide(coins) * UNLOCKING_BYTES,
        // Marker and flag, and a count per input; all of it at a quarter.
        Lock::Witness => {
            let witness = 2 + wide(coins) * (1 + UNLOCKING_BYTES);
            (bytes * WITNESS_SCALE + witness).div_ceil(WITNESS_SCALE)
        }
    }
}

/// Minimum amount of one more coin with which `outputs` can be paid and change returns; `None` if
/// no single coin suffices.
pub fn one_more(coins: &[Coin], outputs: &[Pay], terms: &Terms) -> Option<u64> {
    let paid = outputs.iter().try_fold(0_u64, |sum, output| sum.checked_add(output.amount))?;
    let scripts = outputs.iter().map(|output| output.script.len());
    let scripts = scripts.chain([terms.change_script_bytes]);
    let mut held: Vec<_> = coins.iter().map(|coin| coin.amount).collect();
    held.sort_unstable_by(|a, b| b.cmp(a));
    let (mut beside, mut least) = (0_u64, None);
    // It replaces all but the largest: as many as can be paid for.
    for count in 1..=(held.len() + 1).min(COINS_MAX) {
        let bytes = virtual_bytes(terms.lock, count, scripts.clone());
        let fee = bytes.checked_mul(terms.fee_rate_floor)?.checked_add(terms.fee_extra)?;
        if fee > terms.fee_max.max(terms.fee_limit) {
            break;
        }
        let needs = paid.checked_add(fee)?.checked_add(terms.dust)?.saturating_sub(beside);
        least = Some(least.map_or(needs, |least: u64| least.min(needs)));
        beside = beside.checked_add(held.get(count - 1).copied().unwrap_or(0))?;
    }
    least.map(|least| least.max(terms.dust))
}

/// Minimum sum of the coins of a transaction: its payments, and its fee without change.
pub fn needs(coins: usize, outputs: &[Pay], terms: &Terms) -> Result<u64, SpendError> {
    let scripts = outputs.iter().map(|output| output.script.len());
    let fee = affordable(virtual_bytes(terms.lock, coins, scripts), terms)?;
    let add = |sum: u64, output: &Pay| sum.checked_add(output.amount).ok_or(SpendError::TooLittle);
    outputs.iter().try_fold(fee, add)
}

/// A transaction that sends everything it can to one script (sweep).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sweep {
    /// Sum of its coins.
    pub held: u64,
    /// Fee at the requested rate.
    pub fee: u64,
    /// Fee at the minimum relay rate.
    pub fee_least: u64,
}

/// Sweeps the largest of `amounts`: as many as fit into one transaction, and none that costs more
/// than its value. `None` if there is none.
pub fn sweep(lock: Lock, amounts: &[u64], script: usize, rates: (u64, u64)) -> Option<Sweep> {
    let (fee_rate, floor) = rates;
    let cost = |coins: usize, rate: u64| {
        virtual_bytes(lock, coins, [script].into_iter()).checked_mul(rate)
    };
    let one = cost(2, fee_rate)?.checked_sub(cost(1, fee_rate)?)?;
    let mut worth: Vec<u64> = amounts.iter().copied().filter(|amount| *amount > one).collect();
    worth.sort_unstable_by(|a, b| b.cmp(a));
    worth.truncate(COINS_MAX);
    if worth.is_empty() {
        return None;
    }
    let held = worth.iter().try_fold(0_u64, |sum, amount| sum.checked_add(*amount))?;
    let (fee, fee_least) = (cost(worth.len(), fee_rate)?, cost(worth.len(), floor)?);
    Some(Sweep { held, fee, fee_least })
}

/// Returns true if a node's rejection is caused by an output, independent of inputs and fee. Any
/// other reason, such as `mempool min fee not met`, depends on the node's current state.
pub fn blames_an_output(reason: &str) -> bool {
    // Reasons of bitcoind and litecoind; Knots is more precise and appends the kind, as in
    // `dust-nonanchor`.
    let words = ["dust", "scriptpubkey", "bare-", "bad-txns-vout-"];
    words.iter().any(|word| reason.starts_with(word))
}

/// Minimum relay fee rate of a family's nodes.
pub fn fee_rate_floor(family: Family) -> u64 {
    u64::try_from(quote::fee_rate_floor(family)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn coin(n: usize, amount: u64) -> Coin {
        Coin { outpoint: format!("{}:{n}", "ab".repeat(32)), amount }
    }

    fn pay(amount: u64) -> Pay {
        Pay { script: vec![0; 22], amount }
    }

    const TERMS: Terms = Terms {
        lock: Lock::Witness,
        fee_rate: 10,
        fee_extra: 0,
        fee_max: u64::MAX,
        fee_rate_floor: 1,
        fee_limit: 0,
        dust: 546,
        every_coin: false,
        change_script_bytes: 22,
    };

    #[test]
    fn the_largest_coins_that_suffice_are_spent_and_the_rest_returns() {
        let coins = [coin(0, 1_000), coin(1, 50_000), coin(2, 30_000)];
        let spend = plan(&coins, &[pay(40_000)], &TERMS).unwrap();
        assert_eq!(spend.coins, [coin(1, 50_000)]);
        // One witness input, two witness outputs: 141 virtual bytes.
        assert_eq!((spend.fee, spend.change), (1_410, Some(8_590)));
        let all = Terms { every_coin: true, ..TERMS };
        assert_eq!(plan(&coins, &[pay(40_000)], &all).unwrap().coins.len(), 3);
    }

    #[test]
    fn change_below_the_dust_limit_becomes_network_fee() {
        let spend = plan(&[coin(0, 42_000)], &[pay(40_000)], &TERMS).unwrap();
        assert_eq!((spend.fee, spend.change), (1_410, Some(590)));
        let spend = plan(&[coin(0, 41_900)], &[pay(40_000)], &TERMS).unwrap();
        assert_eq!((spend.fee, spend.change), (1_900, None));
        assert_eq!(plan(&[coin(0, 41_000)], &[pay(40_000)], &TERMS), Err(SpendError::TooLittle));
        assert_eq!(plan(&[coin(0, 1_000)], &[], &TERMS), Err(SpendError::Nothing));
    }

    #[test]
    fn the_rate_gives_way_to_the_quote_down_to_its_floor() {
        let coins = [coin(0, 100_000)];
        let tight = Terms { fee_max: 500, ..TERMS };
        assert_eq!(plan(&coins, &[pay(40_000)], &tight).unwrap().fee, 500);
        let too_tight = Terms { fee_max: 140, ..TERMS };
        assert_eq!(plan(&coins, &[pay(40_000)], &too_tight), Err(SpendError::FeeTooHigh));
        let with_parent = Terms { fee_extra: 2_000, ..TERMS };
        assert_eq!(plan(&coins, &[], &with_parent).unwrap().fee, 1_100 + 2_000);
    }

    /// Dogecoin's minimum rate equals its quote in calm, so the quote has room for few pieces.
    #[test]
    fn an_order_funded_by_many_outputs_pays_at_the_lowest_rate_or_states_the_deposit_it_needs() {
        let outputs = [Pay { script: vec![0; 25], amount: 30_000_000 }];
        let (fee_max, fee_limit) = (1_036_500, 1_557_000);
        let terms = Terms {
            lock: Lock::Legacy,
            fee_rate: 1_000,
            fee_max,
            fee_limit,
            fee_rate_floor: 1_000,
            dust: 1_000_000,
            change_script_bytes: 25,
            ..TERMS
        };
        let due = 30_000_000 + fee_limit;
        let pieces = |count: usize| -> Vec<_> {
            let each = due / u64::try_from(count).unwrap();
            let first = due - each * u64::try_from(count - 1).unwrap();
            (0..count).map(|n| coin(n, if n == 0 { first } else { each })).collect()
        };
        for count in 1..=10 {
            let spend = plan(&pieces(count), &outputs, &terms).unwrap();
            assert!(spend.fee <= fee_limit, "{count}: {spend:?}");
            let strict = plan(&pieces(count), &outputs, &Terms { fee_limit: fee_max, ..terms });
            assert_eq!(strict.is_ok(), count <= 6, "{count}: {strict:?}");
            // A spend within the quote is unchanged.
            if let Ok(strict) = strict {
                assert_eq!(spend, strict, "{count}");
            }
        }
        let many = pieces(11);
        assert_eq!(plan(&many, &outputs, &terms), Err(SpendError::FeeTooHigh));
        let missing = one_more(&many, &outputs, &terms).unwrap();
        let with = |units| [many.clone(), vec![coin(99, units)]].concat();
        assert!(plan(&with(missing), &outputs, &terms).unwrap().change.unwrap() >= terms.dust);
        assert!(plan(&with(u64::from(u32::MAX)), &outputs, &terms).is_ok());
        let broke = Terms { fee_max: 0, fee_limit: 100_000, ..terms };
        assert_eq!(one_more(&many, &outputs, &broke), None);
    }

    #[test]
    fn a_quoted_fee_too_small_for_a_change_output_still_pays_for_sending_everything() {
        let floor = fee_rate_floor(Family::Dogecoin);
        let fee = sweep(Lock::Legacy, &[u64::MAX], 34, (floor, floor)).unwrap().fee;
        let terms = Terms {
            lock: Lock::Legacy,
            fee_rate: floor,
            fee_max: fee,
            fee_rate_floor: floor,
            dust: 1_000_000,
            change_script_bytes: 25,
            ..TERMS
        };
        let outputs = [Pay { script: vec![0; 25], amount: 30_000_000 }];
        let sent = plan(&[coin(0, 30_000_000 + fee)], &outputs, &terms).unwrap();
        assert_eq!((sent.fee, sent.change), (fee, None));
        // One unit more could only go to the network.
        let more = [coin(0, 30_000_001 + fee)];
        assert_eq!(plan(&more, &outputs, &terms), Err(SpendError::FeeTooHigh));
        let less = [coin(0, 30_000_000 + fee / 2)];
        assert_eq!(plan(&less, &outputs, &terms), Err(SpendError::TooLittle));
    }

    #[test]
    fn dust_is_added_to_the_fee_beyond_the_quote_only_if_no_input_is_left() {
        let terms = Terms { fee_max: 1_500, ..TERMS };
        let one = [coin(0, 41_900)];
        let spend = plan(&one, &[pay(40_000)], &terms).unwrap();
        assert_eq!((spend.fee, spend.change), (1_900, None));
        let two = [coin(0, 41_900), coin(1, 5_000)];
        let spend = plan(&two, &[pay(40_000)], &terms).unwrap();
        assert_eq!((spend.fee, spend.change), (1_500, Some(5_400)));
    }

    #[test]
    fn the_required_amount_is_the_smallest_that_suffices() {
        let outputs = [pay(40_000), pay(600)];
        let needs = needs(1, &outputs, &TERMS).unwrap();
        assert_eq!(needs, 40_600 + 1_410);
        assert!(plan(&[coin(0, needs)], &outputs, &TERMS).is_ok());
        assert_eq!(plan(&[coin(0, needs - 1)], &outputs, &TERMS), Err(SpendError::TooLittle));
    }

    #[test]
    fn an_output_is_recognised_by_its_script() {
        let of = |script: &str| Lock::of_script(&hex::decode(script).unwrap());
        let hash = "75".repeat(20);
        assert_eq!(of(&format!("0014{hash}")), Some(Lock::Witness));
        assert_eq!(of(&format!("76a914{hash}88ac")), Some(Lock::Legacy));
        for other in [
            format!("a914{hash}87"),
            format!("0020{}", "75".repeat(32)),
            format!("5120{}", "75".repeat(32)),
        ] {
            assert_eq!(of(&other), None, "{other}");
        }
    }

    #[test]
    fn a_row_fails_only_if_its_own_output_is_refused() {
        for output in [
            "dust",
            "dust-nonanchor",
            "scriptpubkey",
            "scriptpubkey-unknown-witnessversion",
            "bare-multisig",
            "bad-txns-vout-toolarge",
        ] {
            assert!(blames_an_output(output), "{output}");
        }
        for other in [
            "",
            "mempool min fee not met",
            "min relay fee not met",
            "too-long-mempool-chain",
            "bad-txns-inputs-missingorspent",
            "txn-mempool-conflict",
            "insufficient fee",
            "tx-size",
            "mandatory-script-verify-flag-failed (Witness program hash mismatch)",
            "mempool full",
        ] {
            assert!(!blames_an_output(other), "{other}");
        }
    }

    #[test]
    fn sizes_are_those_of_the_field() {
        let two = || [22_usize, 22].into_iter();
        assert_eq!(virtual_bytes(Lock::Witness, 1, two()), 141);
        assert_eq!(virtual_bytes(Lock::Legacy, 1, [25, 25].into_iter()), 226);
        assert_eq!(virtual_bytes(Lock::Witness, 1, std::iter::repeat_n(22, 1_001)), 31_112);
    }

    proptest! {
        /// The limit only adds: a plan possible without it stays, a plan that needs it costs the
        /// minimum rate, and a deposit of the reported missing amount, or of more, always helps.
        #[test]
        fn the_limit_pays_for_pieces_and_for_nothing_else(
            amounts in proptest::collection::vec(1_000_u64..200_000, 1..60),
            paid in proptest::collection::vec(10_000_u64..900_000, 1..5),
            fee_max in 0_u64..30_000, more in 0_u64..30_000, surplus in 0_u64..500_000,
        ) {
            let coins: Vec<_> = amounts.iter().enumerate().map(|(n, a)| coin(n, *a)).collect();
            let outputs: Vec<_> = paid.iter().map(|amount| pay(*amount)).collect();
            let fee_limit = fee_max + more;
            let terms = Terms {
                lock: Lock::Legacy, fee_rate: 60, fee_rate_floor: 20, fee_max, fee_limit, ..TERMS
            };
            let strict = plan(&coins, &outputs, &Terms { fee_limit: fee_max, ..terms });
            let planned = plan(&coins, &outputs, &terms);
            if strict.is_ok() {
                prop_assert_eq!(&planned, &strict);
            } else if let Ok(spend) = &planned {
                let inside: u64 = spend.coins.iter().map(|coin| coin.amount).sum();
                let outside: u64 = paid.iter().sum::<u64>() + spend.change.unwrap_or(0);
                prop_assert_eq!(inside, outside + spend.fee);
                let dust = if spend.change.is_none() { TERMS.dust } else { 0 };
                prop_assert!(spend.fee <= fee_limit + dust);
            }
            if planned == Err(SpendError::FeeTooHigh)
                && let Some(missing) = one_more(&coins, &outputs, &terms)
            {
                let coins = [coins, vec![coin(999, missing + surplus)]].concat();
                prop_assert!(plan(&coins, &outputs, &terms).is_ok());
            }
        }

        #[test]
        fn the_inputs_equal_the_outputs_plus_the_fee(
            amounts in proptest::collection::vec(1_u64..1_000_000, 1..40),
            paid in proptest::collection::vec(546_u64..500_000, 0..20),
            fee_rate in 1_u64..300, every_coin: bool,
        ) {
            let coins: Vec<_> = amounts.iter().enumerate().map(|(n, a)| coin(n, *a)).collect();
            let outputs: Vec<_> = paid.iter().map(|amount| pay(*amount)).collect();
            let terms = Terms { fee_rate, every_coin, ..TERMS };
            if let Ok(spend) = plan(&coins, &outputs, &terms) {
                let inside: u64 = spend.coins.iter().map(|coin| coin.amount).sum();
                let outside: u64 = paid.iter().sum::<u64>() + spend.change.unwrap_or(0);
                prop_assert_eq!(inside, outside + spend.fee);
                prop_assert!(spend.change.is_none_or(|change| change >= TERMS.dust));
                let scripts = outputs.iter().map(|output| output.script.len());
                prop_assert!(spend.fee >= virtual_bytes(Lock::Witness, spend.coins.len(), scripts));
            } else {
                let inside: u64 = amounts.iter().sum();
                let all = virtual_bytes(Lock::Witness, coins.len(), std::iter::repeat_n(22, paid.len() + 1));
                prop_assert!(inside < paid.iter().sum::<u64>() + all * fee_rate + TERMS.dust);
            }
        }
    }
}
