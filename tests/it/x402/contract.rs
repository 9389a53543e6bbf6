//! Payers whose signature a contract checks (ERC-1271), by the overload of Circle's USDC that takes
//! it as bytes, and what such a contract can do to us.

use gateway::x402::{authorization::Authorization, call};
use serde_json::{Value, json};
use support::{
    node::anvil::{address_word, call_data, word},
    server::broker::eventually,
};

use super::{
    cost::costs,
    scene::{CENT, Payer, Scene, body, domain, with_scene},
    verify::refused_by_both,
};

const SIGNATURE: &str = "invalid_exact_evm_payload_signature";
const UNDEPLOYED: &str = "invalid_exact_evm_payload_undeployed_smart_wallet";
const TRANSACTION: &str = "invalid_transaction_state";
/// `contracts/SmartWallet.sol`: it refuses everything, and it refuses transactions alone.
const REFUSES: &str = "1";
const REFUSES_TRANSACTIONS: &str = "2";
const SETTLED: &str = "select count(*) from x402_settlement where state = 'settled'";
const ROWS: &str = "select count(*) from x402_settlement";
/// Of a failure that a block holds.
const REVERTED: &str = "select count(*) from x402_settlement where state = 'failed' and fee is not null and height is not null \
     and reason = 'invalid_transaction_state'";

/// A contract that pays, and its owner's key.
struct Wallet {
    owner: Payer,
    address: String,
}

impl Wallet {
    /// A wallet with so many base units, whose owner is payer number `n`.
    async fn new(scene: &Scene, n: u8, units: u128) -> Self {
        let address = scene.anvil.deploy("SmartWallet").await.unwrap().to_lowercase();
        scene.give(&address, units).await;
        let wallet = Self { owner: Payer::new(n), address };
        wallet.set(scene, "0", &address_word(&wallet.owner.address)).await;
        wallet
    }

    async fn set(&self, scene: &Scene, slot: &str, value: &str) {
        let params =
            json!([self.address, format!("0x{}", word(slot)), format!("0x{}", word(value))]);
        scene.anvil.rpc("anvil_setStorageAt", params).await.unwrap();
    }

    /// See `mood` of the contract.
    async fn feels(&self, scene: &Scene, mood: &str) {
        self.set(scene, "1", mood).await;
    }

    async fn authorization(&self, scene: &Scene, accepts: &Value, nonce: u128) -> Authorization {
        let from = gateway::payout::transfer::address_bytes(&self.address).unwrap();
        Authorization { from, ..scene.authorization(&self.owner, accepts, nonce).await }
    }

    /// The number of the owner, and his signature.
    fn sign(&self, authorization: &Authorization) -> String {
        let by_owner = self.owner.sign(&domain(), authorization);
        format!("0x{}{}", word("0"), &by_owner[2..])
    }

    async fn request(&self, scene: &Scene, accepts: &Value, nonce: u128) -> Value {
        let authorization = self.authorization(scene, accepts, nonce).await;
        body(accepts, &authorization, &self.sign(&authorization))
    }
}

/// A signature in the wrapper of EIP-6492, with a call of a factory that nobody makes.
fn wrapped(signature: &str) -> String {
    let digits = &signature[2..];
    let padded = |digits: &str| {
        let mut digits = digits.to_owned();
        digits.push_str(&"0".repeat(digits.len().next_multiple_of(64) - digits.len()));
        digits
    };
    let call = "11".repeat(36);
    let (at_call, at_signature) = (96, 96 + 32 + padded(&call).len() / 2);
    let number = |n: usize| word(&format!("{n:x}"));
    let head = [word("ba5e"), number(at_call), number(at_signature)].concat();
    let parts = [&call, digits].map(|part| number(part.len() / 2) + &padded(part));
    format!("0x{head}{}{}", parts.concat(), "6492".repeat(16))
}

async fn message(scene: &Scene, request: &Value) -> String {
    let verdict = scene.verify(request).await;
    verdict["invalidMessage"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contract_pays_by_a_signature_that_it_checks_itself() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let wallet = Wallet::new(&scene, 7, 3 * CENT).await;
        let request = wallet.request(&scene, &resource["accepts"][0], 1).await;
        let valid = json!({ "isValid": true, "payer": wallet.address });
        assert_eq!(scene.verify(&request).await, valid);
        let settled = scene.settle(&request).await;
        assert_eq!(settled["success"], true, "{settled}");
        assert_eq!(settled["payer"], wallet.address);
        let hash = settled["transaction"].as_str().unwrap();
        let sent = scene.anvil.rpc("eth_getTransactionByHash", json!([hash])).await.unwrap();
        let data = hex::decode(&sent["input"].as_str().unwrap()[2..]).unwrap();
        assert!(call::is_by_contract(&data));
        assert_eq!(scene.tokens(&wallet.address).await, 2 * CENT);
        assert_eq!(scene.tokens(resource["pay_to"].as_str().unwrap()).await, CENT);
        scene.until("it is final", SETTLED, 1).await;
        let booked = "select count(*) from ledger_entry where kind = 'x402_payment'";
        scene.until("it is booked", booked, 1).await;
        assert_eq!(scene.booked().await, CENT);
        assert_eq!(scene.settle(&request).await, settled);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_refuses_a_contract_s_payment_is_told_and_nothing_is_sent() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let accepts = &resource["accepts"][0];
        let wallet = Wallet::new(&scene, 7, 3 * CENT).await;
        let refused = async |request: &Value, reason: &str, why: &str| {
            assert_eq!(refused_by_both(&scene, request).await, reason);
            let told = message(&scene, request).await;
            assert!(told.contains(why), "{told}");
        };
        let by_wallet = "the contract at the payer's address does not accept this signature";
        let authorization = wallet.authorization(&scene, accepts, 1).await;
        // The owner's key alone, and another owner's.
        let of_key = wallet.owner.sign(&domain(), &authorization);
        refused(&body(accepts, &authorization, &of_key), SIGNATURE, by_wallet).await;
        let stranger = Wallet { owner: Payer::new(8), address: wallet.address.clone() };
        let of_stranger = body(accepts, &authorization, &stranger.sign(&authorization));
        refused(&of_stranger, SIGNATURE, by_wallet).await;

        let good = wallet.request(&scene, accepts, 1).await;
        wallet.feels(&scene, REFUSES).await;
        refused(&good, SIGNATURE, by_wallet).await;
        wallet.feels(&scene, "0").await;
        // The contract says yes, and the token no.
        scene.call_token(&call_data("pause()", &[])).await;
        refused(&good, TRANSACTION, "Pausable: paused").await;
        scene.call_token(&call_data("unpause()", &[])).await;
        assert_eq!(scene.verify(&good).await["isValid"], true);
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 0);
    })
    .await;
}

/// It sees that a transaction has a price of gas and a question has none. Each time costs us a
/// reverted transaction, so it is believed three times.
#[tokio::test(flavor = "multi_thread")]
async fn a_contract_that_says_yes_and_then_no_costs_three_transactions_within_the_limits() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let accepts = &resource["accepts"][0];
        let wallet = Wallet::new(&scene, 7, 9 * CENT).await;
        wallet.feels(&scene, REFUSES_TRANSACTIONS).await;
        let before = scene.anvil.coins(&scene.gas).await.unwrap();
        for nonce in 1..=3 {
            let request = wallet.request(&scene, accepts, nonce).await;
            assert_eq!(scene.verify(&request).await["isValid"], true);
            let settled = scene.settle(&request).await;
            assert_eq!((&settled["success"], &settled["transaction"]), (&json!(false), &json!("")));
            scene.until("it has failed", REVERTED, nonce).await;
            assert_eq!(scene.settle(&request).await["errorReason"], TRANSACTION);
        }
        let fourth = wallet.request(&scene, accepts, 4).await;
        assert_eq!(refused_by_both(&scene, &fourth).await, TRANSACTION);
        let told = message(&scene, &fourth).await;
        assert!(told.contains("were reverted lately"), "{told}");
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 3);
        assert_eq!(scene.tokens(&wallet.address).await, 9 * CENT);
        // What it took is booked, and is no more than was counted against the limits.
        let fees = "select sum(fee) from x402_settlement";
        let taken = before - scene.anvil.coins(&scene.gas).await.unwrap();
        assert_eq!(scene.number(fees).await, taken);
        let booked = "select sum(amount) from ledger_entry where credit = 'x402_gas:polygon'";
        assert_eq!(scene.number(booked).await, taken);
        let most = format!("select (3 * {} * max(fee_rate)) from x402_version", call::GAS_MAX);
        assert!(taken <= scene.number(&most).await, "{taken}");
        // Nobody else pays for it: another contract, and a key.
        let other = Wallet::new(&scene, 8, CENT).await;
        let request = other.request(&scene, accepts, 1).await;
        assert_eq!(scene.settle(&request).await["success"], true);
        let payer = scene.payer(9, CENT).await;
        let request = scene.request(&payer, accepts, 1).await;
        assert_eq!(scene.settle(&request).await["success"], true);
        // An hour later it may try again.
        scene.stack.sql("update x402_settlement set ended_at = ended_at - interval '1 hour' where fee is not null").await;
        assert_eq!(scene.verify(&fourth).await["isValid"], true);
    })
    .await;
}

/// What is on its way, or in a block that is not final, may cost as much as what has failed.
#[tokio::test(flavor = "multi_thread")]
async fn payments_of_a_contract_that_wait_for_their_end_count_like_reverted_ones() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let accepts = &resource["accepts"][0];
        let wallet = Wallet::new(&scene, 7, 9 * CENT).await;
        wallet.feels(&scene, REFUSES_TRANSACTIONS).await;
        for nonce in 1..=5 {
            scene.hand_in(&scene.merchant, &wallet.request(&scene, accepts, nonce).await).await;
        }
        let sent = "select count(*) from x402_settlement where sent_at is not null";
        scene.until_without_a_block("three are sent", sent, 3).await;
        let in_block =
            "select count(*) from x402_settlement where state = 'submitted' and height is not null";
        scene.anvil.mine().await.unwrap();
        scene.until_without_a_block("a block holds them", in_block, 3).await;
        // Not final yet, and counted.
        let sixth = wallet.request(&scene, accepts, 6).await;
        assert_eq!(refused_by_both(&scene, &sixth).await, TRANSACTION);
        let over = "select count(*) from x402_settlement where state = 'failed'";
        scene.until("all have ended", over, 5).await;
        assert_eq!(scene.number(REVERTED).await, 3);
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 3);
        assert_eq!(scene.tokens(&wallet.address).await, 9 * CENT);
    })
    .await;
}

/// The transaction is signed and sent when the contract changes its mind.
#[tokio::test(flavor = "multi_thread")]
async fn a_contract_that_changes_its_mind_after_its_payment_was_sent_pays_nothing() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let wallet = Wallet::new(&scene, 7, CENT).await;
        let request = wallet.request(&scene, &resource["accepts"][0], 1).await;
        scene.hand_in(&scene.merchant, &request).await;
        let is_sent = "select count(*) from x402_settlement where sent_at is not null";
        scene.until_without_a_block("it is sent", is_sent, 1).await;
        wallet.feels(&scene, REFUSES).await;
        scene.until("it has failed", REVERTED, 1).await;
        let settled = scene.settle(&request).await;
        assert_eq!(
            (&settled["success"], &settled["errorReason"]),
            (&json!(false), &json!(TRANSACTION))
        );
        assert_eq!(scene.tokens(&wallet.address).await, CENT);
        assert_eq!(scene.booked().await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contract_that_burns_gas_is_refused_before_anything_is_signed() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let accepts = &resource["accepts"][0];
        let wallet = Wallet::new(&scene, 7, 3 * CENT).await;
        let request = wallet.request(&scene, accepts, 1).await;
        // More than a settlement may take, and more than a node is asked for.
        for (burnt, reason, why) in [
            (150_000, TRANSACTION, "the transfer takes more than 200000 gas"),
            (100_000_000, SIGNATURE, "does not accept"),
        ] {
            wallet.feels(&scene, &format!("{burnt:x}")).await;
            assert_eq!(refused_by_both(&scene, &request).await, reason, "{burnt}");
            let told = message(&scene, &request).await;
            assert!(told.contains(why), "{told}");
        }
        assert_eq!(scene.number(ROWS).await, 0);
        // It begins to burn when its payment is stored: what was promised is all that it gets.
        wallet.feels(&scene, "0").await;
        scene.hand_in(&scene.merchant, &request).await;
        let is_sent = "select count(*) from x402_settlement where sent_at is not null";
        scene.until_without_a_block("it is sent", is_sent, 1).await;
        wallet.feels(&scene, &format!("{:x}", 100_000_000)).await;
        scene.until("it has failed", REVERTED, 1).await;
        let most = "select (200000 * max(fee_rate)) from x402_version";
        let fee = scene.number("select fee from x402_settlement").await;
        assert!(fee <= scene.number(most).await, "{fee}");
        assert_eq!(scene.tokens(&wallet.address).await, 3 * CENT);
    })
    .await;
}

/// A payment that covers what a key's payment costs does not cover what this contract takes.
#[tokio::test(flavor = "multi_thread")]
async fn a_contract_pays_at_least_what_asking_it_costs() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let accepts = &resource["accepts"][0];
        let wallet = Wallet::new(&scene, 7, CENT).await;
        let payer = scene.payer(8, CENT).await;
        let of_wallet = wallet.request(&scene, accepts, 1).await;
        let of_key = scene.request(&payer, accepts, 1).await;
        costs(&scene, 9_000, "0 seconds").await;
        eventually("the cost holds", async || {
            (scene.verify(&of_wallet).await["isValid"] == false).then_some(())
        })
        .await;
        assert_eq!(refused_by_both(&scene, &of_wallet).await, "invalid_payment_requirements");
        let told = message(&scene, &of_wallet).await;
        assert!(told.contains("below the minimum") && told.contains("contract"), "{told}");
        assert_eq!(scene.verify(&of_key).await["isValid"], true);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrapped_signature_is_the_one_of_a_wallet_that_is_deployed() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let accepts = &resource["accepts"][0];
        let wallet = Wallet::new(&scene, 7, 2 * CENT).await;
        let authorization = wallet.authorization(&scene, accepts, 1).await;
        let signature = wallet.sign(&authorization);
        let request = body(accepts, &authorization, &wrapped(&signature));
        assert_eq!(scene.verify(&request).await["isValid"], true);
        let settled = scene.settle(&request).await;
        assert_eq!(settled["success"], true, "{settled}");
        assert_eq!(scene.tokens(&wallet.address).await, CENT);
        // With and without the wrapper it is one payment.
        let bare = body(accepts, &authorization, &signature);
        assert_eq!(scene.settle(&bare).await, settled);
        assert_eq!(scene.number(ROWS).await, 1);
        // What is inside is asked about, and not the wrapper.
        let next = wallet.authorization(&scene, accepts, 2).await;
        let other = body(accepts, &next, &wrapped(&signature));
        assert_eq!(refused_by_both(&scene, &other).await, SIGNATURE);
    })
    .await;
}

/// Nobody's money is lost by it, and no factory is called at our expense.
#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_that_is_not_deployed_is_refused_by_a_reason_of_its_own() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let accepts = &resource["accepts"][0];
        let owner = Payer::new(8);
        let address = format!("0x{}", "c0".repeat(20));
        let wallet = Wallet { owner, address };
        scene.give(&wallet.address, CENT).await;
        let authorization = wallet.authorization(&scene, accepts, 1).await;
        let request = body(accepts, &authorization, &wrapped(&wallet.sign(&authorization)));
        assert_eq!(refused_by_both(&scene, &request).await, UNDEPLOYED);
        assert!(message(&scene, &request).await.contains("deploy the wallet first"));
        // A key's signature in a wrapper speaks for a contract too.
        let payer = scene.payer(7, CENT).await;
        let of_key = scene.authorization(&payer, accepts, 1).await;
        let signature = payer.sign(&domain(), &of_key);
        let request = body(accepts, &of_key, &wrapped(&signature));
        assert_eq!(refused_by_both(&scene, &request).await, UNDEPLOYED);
        assert_eq!(scene.verify(&body(accepts, &of_key, &signature)).await["isValid"], true);
        // Without the wrapper, and with one that cannot be opened, nobody has signed.
        let bare = body(accepts, &authorization, &wallet.sign(&authorization));
        assert_eq!(refused_by_both(&scene, &bare).await, SIGNATURE);
        let end = format!("0x{}", "6492".repeat(16));
        let broken = body(accepts, &authorization, &end);
        assert_eq!(refused_by_both(&scene, &broken).await, SIGNATURE);
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 0);
    })
    .await;
}
