//! Payments whose nonce or outputs a conflicting transaction used (double-spend): the records that
//! an operator may make, and those that are refused.

use gateway::{
    app::payout::Story,
    payout::payment::{PaymentState, Purpose},
};
use serde_json::{Value, json};
use support::{
    client::ctl::{Ctl, Ran},
    fault::fired::fired,
    server::broker::eventually,
    shop::{payout_events, payouts::evm_address},
};

use super::node::{CHAIN_ID, COIN, CONFIRMATIONS, Scene, due, is_settled, items, with_node};
use crate::ctl::payouts::account;

const STRANGER: u32 = 700;
/// 0.01 of a coin: amount of the one row of each order.
const AMOUNT: u128 = COIN / 100;

/// An order whose only payment was signed and sent, and then lost by every node.
struct Lost<'a> {
    scene: &'a Scene,
    ctl: Ctl,
    id: String,
    address: String,
    due: u128,
    network_fee: u128,
}

impl<'a> Lost<'a> {
    async fn of(scene: &'a Scene, currency: &str) -> Self {
        let order = scene.order(currency, &items(1, 1)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.fund(&order, due(&order)).await;
        if currency != "pol" {
            // Its gas comes first.
            scene.sent(&id, "gas", 1).await;
            scene.mine(CONFIRMATIONS).await;
        }
        scene.sent(&id, "pay", 1).await;
        let ctl = Ctl::of(&scene.stack)
            .with("GATEWAY_CHAINS__POLYGON__SOURCE", "node")
            .with("GATEWAY_CHAINS__POLYGON__RPC_URL", scene.anvil.url())
            .with("GATEWAY_CHAINS__POLYGON__CHAIN_ID", &CHAIN_ID.to_string())
            .with("GATEWAY_CHAINS__POLYGON__CONFIRMATIONS", &CONFIRMATIONS.to_string());
        let address = order["depositAddress"].as_str().unwrap().to_owned();
        let network_fee = order["networkFeeRaw"].as_str().unwrap().parse().unwrap();
        Self { scene, ctl, id, address, due: due(&order), network_fee }
    }

    /// The part of the quoted network fee of an order of coins that goes back: half of it is for
    /// the refund, and `pay` took its part of the rest.
    async fn unused(&self) -> u128 {
        let taken = "select sum(fee) from payout_payment where purpose = 'pay'";
        self.network_fee / 2 - self.scene.number(taken).await
    }

    /// A third party has the key of the order's address, and uses its nonce first. Returns the
    /// transaction's hash.
    async fn conflicting_payment(&self, to: &str, value: u128) -> String {
        let rpc = async |method: &str, params| self.scene.anvil.rpc(method, params).await.unwrap();
        rpc("anvil_dropAllTransactions", json!([])).await;
        rpc("anvil_impersonateAccount", json!([self.address])).await;
        let call = json!([{
            "from": self.address, "to": to, "value": format!("{value:#x}"), "gas": "0x5208",
            "maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0x1",
        }]);
        let hash = rpc("eth_sendTransaction", call).await;
        self.scene.mine(1).await;
        hash.as_str().unwrap().to_owned()
    }

    async fn is_held_as_displaced(&self) {
        self.scene
            .run("update payout_payment set sent_at = now() - interval '11 minutes' where state = 'sent'")
            .await;
        let held = eventually("it is held", async || {
            self.story().await.order.held.map(|hold| hold.to_string())
        })
        .await;
        assert!(held.contains("was used by a transaction that is not ours"), "{held}");
    }

    async fn story(&self) -> Story {
        self.scene.payer.story(&self.id).await
    }

    async fn settle(&self, hash: &str, outcome: &str) -> Ran {
        let reason = ["--reason", "a drill"];
        let what = ["--json", "payouts", "settle", &self.id, hash, outcome];
        self.ctl.run(&[&what[..], &reason].concat()).await
    }

    /// Checks that no payment was settled so far.
    async fn is_open(&self) {
        let payments = self.story().await.payments;
        assert!(
            payments
                .iter()
                .any(|one| one.purpose == Purpose::Pay && one.state == PaymentState::Sent)
        );
        let audited = self.ctl.json(&["audit", &self.id]).await;
        assert!(audited.as_array().unwrap().iter().all(|entry| entry["act"] != "settle"));
    }

    async fn is_settled_as(&self, settled: Ran, outcome: &str) -> Value {
        let settled = settled.expect_ok().json();
        assert_eq!((&settled["outcome"], &settled["rows"]), (&json!(outcome), &json!(1)));
        assert!(settled["held"].is_string(), "people let it go: {settled}");
        let audited = self.ctl.json(&["audit", &self.id]).await;
        let noted = audited.as_array().unwrap().iter().find(|entry| entry["act"] == "settle");
        let noted = noted.unwrap();
        assert_eq!(noted["operator"], account(&self.ctl).await);
        assert!(noted.to_string().contains("a drill"), "{noted}");
        settled
    }

    /// Releases the order and runs it to its end. The amount received equals the amounts paid out
    /// and left, in the books and on the chain.
    async fn ends(&self) -> Story {
        self.scene.stack.gateway.release_order(&self.id, "ada").await.unwrap();
        let story = self.scene.mine_until(&self.id, is_settled, async |_, _| ()).await;
        let books = story.order.books;
        assert_eq!(books.paid.get() + books.returned.get() + books.kept.get(), self.due);
        let mut connection = self.scene.stack.database.connect().await;
        payout_events::are_legal(&mut connection, &self.id, "settled").await;
        story
    }

    /// For the network's own coin: the kept rest lacks only the fees of the order's payments.
    async fn coins_add_up(&self, story: &Story) {
        let fees = self.scene.number("select sum(fee) from payout_payment").await;
        let left = self.scene.anvil.coins(&self.address).await.unwrap();
        assert_eq!(left, story.order.books.kept.get() - fees);
    }

    async fn row(&self) -> Value {
        let path = format!("{}/{}/items", super::EVM, self.id);
        self.scene.payer.merchant.client.get(&path).await.json()["data"][0].clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_whose_nonce_paid_no_recipient_fails_and_is_refunded() {
    with_node("", |scene| async move {
        let lost = Lost::of(&scene, "pol").await;
        let ours = lost.story().await.payments[0].tx_hash.clone();
        let took_no_place = "took the place of an open payment";
        // Nothing has happened to it: its bytes may be mined at any moment.
        for hash in [&ours, &format!("0x{}", "ab".repeat(32))] {
            for outcome in ["--nobody-paid", "--paid"] {
                lost.settle(hash, outcome).await.expect_failure(took_no_place);
            }
        }
        let hash = lost.conflicting_payment(&evm_address(STRANGER), 0).await;
        // In a block that a reorg may still remove.
        lost.settle(&hash, "--nobody-paid").await.expect_failure(took_no_place);
        lost.is_open().await;
        scene.mine(CONFIRMATIONS).await;
        lost.is_held_as_displaced().await;
        fired(1);
        // A final transaction of another account, unrelated to the payment.
        let other = &lost.story().await.deposits[0].tx_hash;
        lost.settle(other, "--nobody-paid").await.expect_failure(took_no_place);
        lost.settle(&hash, "--paid").await.expect_failure("it paid none of the recipients");
        lost.is_open().await;

        lost.is_settled_as(lost.settle(&hash, "--nobody-paid").await, "nobody_paid").await;
        // Only once.
        lost.settle(&hash, "--nobody-paid").await.expect_failure(took_no_place);
        let story = lost.ends().await;
        assert_eq!(story.order.state.as_str(), "partial_failed");
        let books = story.order.books;
        let back = AMOUNT + lost.unused().await;
        assert_eq!((books.failed.get(), books.returned.get()), (AMOUNT, back));
        let row = lost.row().await;
        assert_eq!((&row["state"], &row["txHash"]), (&json!("failed"), &json!(hash)));
        assert_eq!(row["error"], "a conflicting transaction took its place and paid no recipient");
        assert_eq!(scene.anvil.coins(&evm_address(900)).await.unwrap(), back);
        assert_eq!(scene.anvil.coins(&evm_address(1)).await.unwrap(), 0);
        lost.coins_add_up(&story).await;
    })
    .await;
}

/// A name that is typed is nobody's word.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_settled_under_the_account_of_the_operating_system() {
    with_node("", |scene| async move {
        let lost = Lost::of(&scene, "pol").await;
        let hash = lost.conflicting_payment(&evm_address(STRANGER), 0).await;
        scene.mine(CONFIRMATIONS).await;
        lost.is_held_as_displaced().await;
        let by = ["payouts", "settle", &lost.id, &hash, "--nobody-paid", "--reason", "x", "--by"];
        for name in ["ada", "ben"] {
            let ran = lost.ctl.run(&[&by[..], &[name]].concat()).await;
            ran.expect_wrong_usage("is not your account on this machine");
        }
        lost.is_open().await;
        let own = account(&lost.ctl).await;
        lost.ctl.run(&[&by[..], &[&own]].concat()).await.expect_ok();
        let audited = lost.ctl.json(&["audit", &lost.id]).await;
        let mut audited = audited.as_array().unwrap().iter();
        assert_eq!(audited.find(|entry| entry["act"] == "settle").unwrap()["operator"], own);
    })
    .await;
}

/// A reorg took the payment back after it was final, and another transaction took its place.
#[tokio::test(flavor = "multi_thread")]
async fn a_final_payment_that_a_reorg_replaced_by_another_transaction_goes_back() {
    with_node("", |scene| async move {
        let lost = Lost::of(&scene, "pol").await;
        let story = scene.mine_until(&lost.id, is_settled, async |_, _| ()).await;
        assert_eq!(story.order.books.paid.get(), AMOUNT);
        // Its block is lost too, and it goes out again as it is.
        let unused = lost.unused().await;
        assert_eq!(story.order.books.returned.get(), unused);
        scene.lose_payments().await;
        let hash = lost.conflicting_payment(&evm_address(STRANGER), 0).await;
        scene.mine(CONFIRMATIONS).await;
        scene.open_again(&lost.id).await;
        lost.is_held_as_displaced().await;
        lost.is_settled_as(lost.settle(&hash, "--nobody-paid").await, "nobody_paid").await;
        scene.stack.gateway.release_order(&lost.id, "ada").await.unwrap();
        let story = scene.mine_until(&lost.id, is_settled, async |_, _| ()).await;
        let books = story.order.books;
        assert_eq!(books.failed.get(), AMOUNT);
        // The quote covers one refund; the second one pays for itself.
        let back = books.returned.get();
        assert!(back > AMOUNT && back < AMOUNT + unused, "{back}");
        assert_eq!(back + books.kept.get(), lost.due);
        assert_eq!(lost.row().await["state"], "failed");
        assert_eq!(scene.anvil.coins(&evm_address(900)).await.unwrap(), back);
        assert_eq!(scene.anvil.coins(&evm_address(1)).await.unwrap(), 0);
        let told = scene.payer.event_names(7).await;
        assert_eq!(told[4..], ["completed", "batch_broadcasted", "batch_failed"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_another_transaction_made_is_paid_and_not_made_again() {
    with_node("", |scene| async move {
        let lost = Lost::of(&scene, "pol").await;
        let hash = lost.conflicting_payment(&evm_address(1), AMOUNT).await;
        scene.mine(CONFIRMATIONS).await;
        lost.is_held_as_displaced().await;
        fired(1);
        lost.settle(&hash, "--nobody-paid").await.expect_failure("use --paid");
        lost.is_open().await;
        lost.is_settled_as(lost.settle(&hash, "--paid").await, "paid").await;
        let story = lost.ends().await;
        assert_eq!(story.order.state.as_str(), "completed");
        assert_eq!(story.order.books.paid.get(), AMOUNT);
        let row = lost.row().await;
        assert_eq!((&row["state"], &row["txHash"]), (&json!("confirmed"), &json!(hash)));
        assert_eq!(scene.anvil.coins(&evm_address(1)).await.unwrap(), AMOUNT);
        lost.coins_add_up(&story).await;
    })
    .await;
}

/// Neither the signed amount nor zero: no rule says how that ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_whose_nonce_sent_its_recipient_another_amount_cannot_be_settled() {
    with_node("", |scene| async move {
        let lost = Lost::of(&scene, "pol").await;
        let hash = lost.conflicting_payment(&evm_address(1), AMOUNT - 1).await;
        scene.mine(CONFIRMATIONS).await;
        lost.is_held_as_displaced().await;
        for outcome in ["--paid", "--nobody-paid"] {
            lost.settle(&hash, outcome)
                .await
                .expect_failure("it paid the recipient another amount");
        }
        lost.is_open().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_payment_whose_nonce_moved_no_token_is_refunded() {
    with_node("", |scene| async move {
        scene.anvil.set_coins(&scene.gas, COIN).await.unwrap();
        let lost = Lost::of(&scene, "usdtmatic").await;
        let hash = lost.conflicting_payment(&evm_address(STRANGER), 0).await;
        scene.mine(CONFIRMATIONS).await;
        lost.is_held_as_displaced().await;
        lost.settle(&hash, "--paid").await.expect_failure("it paid none of the recipients");
        lost.is_settled_as(lost.settle(&hash, "--nobody-paid").await, "nobody_paid").await;
        let story = lost.ends().await;
        assert_eq!(story.order.state.as_str(), "partial_failed");
        let back = scene.anvil.tokens(super::node::USDT, &evm_address(900)).await.unwrap();
        assert_eq!(back, story.order.books.returned.get());
        // The row, and a part of the network fee.
        assert!(back > 10_000 && back < 10_000 + lost.network_fee / 2, "{back}");
    })
    .await;
}

/// PUSH1 1, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN: true, whatever it is asked.
const SAYS_YES: &str = "0x600160005260206000f3";

/// A missing log proves nothing: only a person who compared balances says that nobody was paid.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_payment_without_its_log_is_held_and_refunded_only_by_an_operator_s_decision() {
    with_node("", |scene| async move {
        scene.anvil.set_coins(&scene.gas, COIN).await.unwrap();
        let lost = Lost::of(&scene, "usdtmatic").await;
        let usdt = super::node::USDT;
        let payment =
            lost.story().await.payments.into_iter().find(|one| one.purpose == Purpose::Pay);
        let ours = payment.unwrap().tx_hash;
        let token = scene.anvil.rpc("eth_getCode", json!([usdt, "latest"])).await.unwrap();
        scene.anvil.rpc("anvil_setCode", json!([usdt, SAYS_YES])).await.unwrap();
        let is_held = |story: &Story| story.order.held.is_some();
        let story = scene.mine_until(&lost.id, is_held, async |_, _| ()).await;
        let held = story.order.held.unwrap().to_string();
        assert!(held.contains("the token's own log of the payment is missing"), "{held}");
        let books = story.order.books;
        assert!(books.failed.is_zero() && books.returned.is_zero(), "{books:?}");
        let query = "select count(*) from operator_alert where kind = 'payout_unexplained'";
        assert_eq!(scene.number(query).await, 1);
        fired(1);
        lost.is_open().await;

        scene.anvil.rpc("anvil_setCode", json!([usdt, token])).await.unwrap();
        lost.is_settled_as(lost.settle(&ours, "--nobody-paid").await, "nobody_paid").await;
        let story = lost.ends().await;
        assert_eq!(story.order.state.as_str(), "partial_failed");
        assert_eq!(lost.row().await["error"], "the token accepted the call and moved nothing");
        let back = scene.anvil.tokens(usdt, &evm_address(900)).await.unwrap();
        assert_eq!(back, story.order.books.returned.get());
        // The row, and a part of the network fee.
        assert!(back > 10_000 && back < 10_000 + lost.network_fee / 2, "{back}");
    })
    .await;
}
