//! Two calls: the block with the bytes of its transactions, and their results.

use bitcoin::bech32::{self, Bech32, Hrp};
use serde_json::Value;
use support::node::{
    stub_chain::StubChain,
    thornode::{ThorTx, Thornode, event, transfer},
};

use super::{
    HEIGHT, TRANSACTIONS,
    answers::{Answers, digest, told},
};

const FEE: &str = "2000000rune";
const RESERVE: &str = "thor1dheycdevq39qlkxs2a6wuuzyn4aqxhve4qxtxt";
const SENDER: &str = "thor1x3379v4xjyc5nlhs83j5zhfs5m948nk72u5uax";

/// Payments in RUNE, each with its fee.
pub fn full() -> Answers {
    let mut node =
        Thornode { chain: StubChain::new(HEIGHT - 1, digest("block", 1)), ..Thornode::default() };
    node.chain.waiting = (0..TRANSACTIONS).map(transaction).collect();
    node.chain.mine();
    let text = |path| told(&node, path).to_string();
    Answers::new([("/block", text("/block")), ("/block_results", text("/block_results"))])
}

fn transaction(number: usize) -> ThorTx {
    // A message, a key and a signature make some 300 bytes.
    let bytes = ["message", "body", "key", "signature"].map(|part| digest(part, number)).concat();
    let to = account(number);
    let named = |key, value| event("tx", &[(key, value)]);
    let mut events = vec![
        named("fee", FEE),
        named("acc_seq", &format!("{SENDER}/{number}")),
        named(
            "signature",
            "fKF0mDWBbCtOVYBsXVKu8Od2UNhoWUtUKVsGcVHNhuMRfkgG4RHEMv0Jm5tR8SAFaVKBf1Z3hXMDnVKYrFbcVQ==",
        ),
        event("message", &[("action", "/types.MsgSend"), ("sender", SENDER), ("msg_index", "0")]),
    ];
    events.extend(payment(RESERVE, FEE));
    events.extend(payment(&to, "100000000rune"));
    ThorTx { bytes: bytes.repeat(2), code: 0, events }
}

/// Event of the bank module for one payment.
fn payment(to: &str, coins: &str) -> [Value; 4] {
    let index = ("msg_index", "0");
    [
        event("coin_spent", &[("spender", SENDER), ("amount", coins), index]),
        event("coin_received", &[("receiver", to), ("amount", coins), index]),
        transfer(to, coins),
        event("message", &[("sender", SENDER), index]),
    ]
}

fn account(number: usize) -> String {
    let prefix = Hrp::parse("thor").unwrap();
    bech32::encode::<Bech32>(prefix, &digest("to", number)[..20]).unwrap()
}
