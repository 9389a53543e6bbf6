//! Payments and inputs signed per second on one core, against the bare operation on the curve.

use std::{hint::black_box, time::Instant};

use bitcoin::{
    CompressedPublicKey, ScriptBuf,
    hashes::{Hash, sha256},
};
use gateway::{
    asset::{Network, address::evm},
    chain::pay::{
        EvmPayer, Means, Output, Payer, Unsigned,
        utxo::{
            spend::{Coin, Lock, Pay, Terms, plan},
            transaction::{self, Replaceable},
        },
    },
    money::BaseUnits,
    payout::fee::Fee,
};
use k256::{ecdsa::SigningKey, elliptic_curve::sec1::ToSec1Point};
use secrecy::SecretString;

use crate::report::{Goal, Report, Rounds};

const EVM: &str = "payout: EVM payments signed, one core";
const UTXO: &str = "payout: UTXO inputs signed, one core";
const PAYMENTS: u64 = 2_000;
/// Inputs per transaction, and number of transactions.
const INPUTS: usize = 200;
const TRANSACTIONS: usize = 10;
const LIMIT: &str = "the bare operation on the curve, for as many hashes";

pub fn run(report: &mut Report) {
    for (name, signed) in [(EVM, payments as fn(&SigningKey) -> f64), (UTXO, inputs)] {
        if !report.wants(name) {
            continue;
        }
        let key = SigningKey::from_slice(&[7; 32]).unwrap();
        let mut rounds = Rounds::default();
        for round in 0..=report.rounds {
            let (ours, bare) = (signed(&key), bare(&key));
            // The first round warms up.
            if round > 0 {
                rounds.add(ours, bare);
            }
        }
        report.ratio(name, "/s", LIMIT, Goal::AtLeast(0.7), rounds);
    }
}

fn bare(key: &SigningKey) -> f64 {
    let digests: Vec<_> =
        (0..PAYMENTS).map(|n| sha256::Hash::hash(&n.to_be_bytes()).to_byte_array()).collect();
    let started = Instant::now();
    for digest in &digests {
        black_box(key.sign_prehash_recoverable(digest));
    }
    per_second(digests.len(), started)
}

/// Signs payments as for an order: each with its nonce, from the data of its row.
fn payments(key: &SigningKey) -> f64 {
    let url = SecretString::from("http://nobody.invalid");
    let payer = Payer::Evm(EvmPayer::new(Network::Polygon, &url, None).unwrap());
    let own = evm::address(&k256::PublicKey::from(key.verifying_key())).to_ascii_lowercase();
    let payment = |nonce| Unsigned {
        sender: own.clone(),
        nonce,
        outputs: vec![Output {
            address: format!("0x{:040x}", nonce + 1),
            amount: BaseUnits::new(1_250_000),
        }],
        means: Means::Transfer,
        contract: Some("0xc2132d05d31c914a87c6611c10748aeb04b58e8f".to_owned()),
        work: 65_000,
        fee: Fee { tip: 1_000_000_000, ..Fee::of(30_000_000_000) },
        spendable: None,
    };
    let payments: Vec<_> = (0..PAYMENTS).map(payment).collect();
    let started = Instant::now();
    for payment in &payments {
        black_box(payer.sign(Some(key), payment).unwrap());
    }
    per_second(payments.len(), started)
}

/// Signs transactions with many inputs, as for an order that was funded in small pieces.
fn inputs(key: &SigningKey) -> f64 {
    let public = k256::PublicKey::from(key.verifying_key());
    let public = CompressedPublicKey::from_slice(public.to_sec1_point(true).as_bytes()).unwrap();
    let own = ScriptBuf::new_p2wpkh(&public.wpubkey_hash()).into_bytes();
    let coin = |n| Coin { outpoint: format!("{n:064x}:0"), amount: 10_000 };
    let coins: Vec<_> = (0..INPUTS).map(coin).collect();
    let outputs = [Pay { script: own.clone(), amount: 600_000 }];
    let terms = Terms {
        lock: Lock::Witness,
        fee_rate: 10,
        fee_extra: 0,
        fee_max: 1_000_000,
        fee_rate_floor: 1,
        fee_limit: u64::MAX,
        dust: 546,
        every_coin: true,
        change_script_bytes: own.len(),
    };
    let spend = plan(&coins, &outputs, &terms).unwrap();
    let started = Instant::now();
    for _ in 0..TRANSACTIONS {
        let bare = transaction::unsigned(&spend, &outputs, &own, Replaceable::Yes).unwrap();
        black_box(transaction::sign(bare, &spend, Lock::Witness, &own, key).unwrap());
    }
    per_second(INPUTS * TRANSACTIONS, started)
}

fn per_second(count: usize, since: Instant) -> f64 {
    count as f64 / since.elapsed().as_secs_f64()
}
