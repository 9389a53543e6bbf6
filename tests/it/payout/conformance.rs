//! Node behaviour that payouts depend on, checked for anvil and for the fake node alike: the fake
//! passes the same checks as the real one.

use std::collections::HashMap;

use gateway::payout::eip1559::{Signed, Transaction};
use k256::ecdsa::SigningKey;
use serde_json::{Value, json};
use support::node::{
    anvil::{Anvil, Call, address_word, call_data, word},
    fake_evm::{Cast, FakeEvm, State},
    json_rpc,
};

const CHAIN_ID: u64 = 137;
const GWEI: u128 = 1_000_000_000;
const COIN: u128 = 1_000_000_000_000_000_000;
const TOKEN: &str = "0xc2132d05d31c914a87c6611c10748aeb04b58e8f";
const SOMEBODY: [u8; 20] = [9; 20];
const COIN_GAS: u64 = 21_000;
const TOKEN_GAS: u64 = 100_000;
const UNDERPRICED: &[&str] = &["replacement transaction underpriced"];

enum Node {
    Real(Anvil),
    Fake(FakeEvm),
}

/// The private key of this one byte.
fn key(last: u8) -> SigningKey {
    let mut bytes = [0; 32];
    bytes[31] = last;
    SigningKey::from_slice(&bytes).unwrap()
}

/// A payment of one wei, with fees that every block here accepts.
fn payment(nonce: u64) -> Transaction {
    Transaction {
        chain_id: CHAIN_ID,
        nonce,
        priority_fee: GWEI,
        max_fee: 10 * GWEI,
        gas_limit: COIN_GAS,
        to: SOMEBODY,
        value: 1,
        data: vec![],
    }
}

fn owner() -> String {
    payment(0).sign(&key(1)).sender
}

impl Node {
    async fn real() -> Self {
        let anvil = Anvil::start(CHAIN_ID).await.unwrap();
        anvil.set_coins(&owner(), COIN).await.unwrap();
        let token = anvil.deploy("Token").await.unwrap();
        anvil.place_token(&token, TOKEN, "f4240").await.unwrap();
        let words = [address_word(&owner()), word("f4240")];
        let data = call_data("transfer(address,uint256)", &words);
        let call = Call { to: Some(TOKEN), value: "0x0".to_owned(), data };
        anvil.send(anvil.deployer(), &call).await.unwrap();
        anvil.mine().await.unwrap();
        Self::Real(anvil)
    }

    async fn fake() -> Self {
        let fake = FakeEvm::start().await.unwrap();
        let cast = Cast {
            chain_id: CHAIN_ID,
            required: 3,
            token: TOKEN.to_owned(),
            order: owner(),
            gas_wallet: String::new(),
            ..Cast::default()
        };
        fake.begin(1, cast, HashMap::from([(owner(), COIN)]));
        fake.with(State::be_honest);
        Self::Fake(fake)
    }

    async fn ask(&self, method: &str, params: Value) -> Result<Value, String> {
        let url = match self {
            Self::Real(node) => node.url(),
            Self::Fake(node) => node.url(),
        };
        json_rpc::call(url, method, params).await.map_err(|error| error.to_string().to_lowercase())
    }

    async fn mine(&self) {
        match self {
            Self::Real(node) => node.mine().await.unwrap(),
            Self::Fake(node) => node.with(State::pass),
        }
    }

    async fn send(&self, signed: &Signed) -> Result<Value, String> {
        self.send_bytes(&signed.raw).await
    }

    async fn send_bytes(&self, raw: &[u8]) -> Result<Value, String> {
        self.ask("eth_sendRawTransaction", json!([format!("0x{}", hex::encode(raw))])).await
    }

    async fn takes(&self, signed: &Signed) {
        assert_eq!(self.send(signed).await, Ok(json!(signed.hash)));
    }

    /// Refused, for a reason with one of these words.
    async fn refuses(&self, raw: &[u8], reasons: &[&str]) {
        let said = self.send_bytes(raw).await.expect_err(reasons[0]);
        assert!(reasons.iter().any(|reason| said.contains(reason)), "{said}, not {reasons:?}");
    }

    async fn nonce(&self) -> u64 {
        self.number("eth_getTransactionCount").await.try_into().unwrap()
    }

    async fn number(&self, method: &str) -> u128 {
        as_number(&self.ask(method, json!([owner(), "latest"])).await.unwrap())
    }

    async fn waits(&self, signed: &Signed) -> bool {
        let known = self.ask("eth_getTransactionByHash", json!([signed.hash])).await.unwrap();
        !known.is_null() && self.receipt(signed).await.is_null()
    }

    async fn receipt(&self, signed: &Signed) -> Value {
        self.ask("eth_getTransactionReceipt", json!([signed.hash])).await.unwrap()
    }

    async fn newest_block(&self) -> Value {
        self.ask("eth_getBlockByNumber", json!(["latest", false])).await.unwrap()
    }
}

fn as_number(value: &Value) -> u128 {
    u128::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

/// A payment waits, is mined once, and costs what its receipt says.
async fn pays(node: &Node) {
    let (before, nonce) = (node.number("eth_getBalance").await, node.nonce().await);
    let signed = payment(nonce).sign(&key(1));
    node.takes(&signed).await;
    assert!(node.waits(&signed).await);
    assert_eq!(node.nonce().await, nonce, "one that waits does not count at the newest block");
    node.refuses(&signed.raw, &["already known", "already imported"]).await;

    node.mine().await;
    let (receipt, block) = (node.receipt(&signed).await, node.newest_block().await);
    assert_eq!(receipt["status"], "0x1");
    assert_eq!(receipt["blockHash"], block["hash"]);
    assert_eq!(receipt["logs"], json!([]));
    assert_eq!(block["transactions"], json!([signed.hash]));
    assert_eq!(as_number(&receipt["gasUsed"]), u128::from(COIN_GAS));
    let price = as_number(&block["baseFeePerGas"]) + GWEI;
    assert_eq!(as_number(&receipt["effectiveGasPrice"]), price);
    let after = node.number("eth_getBalance").await;
    assert_eq!(before - after, 1 + u128::from(COIN_GAS) * price);
    assert_eq!(node.nonce().await, nonce + 1);

    node.refuses(&signed.raw, &["nonce too low", "already known", "already imported"]).await;
    let second = Transaction { value: 2, ..payment(nonce) }.sign(&key(1));
    node.refuses(&second.raw, &["nonce too low"]).await;
}

/// The receipt and the block's filter name a token's payment.
async fn pays_tokens(node: &Node) {
    let call =
        [[0xa9, 0x05, 0x9c, 0xbb].to_vec(), vec![0; 12], SOMEBODY.to_vec(), vec![0; 31], vec![7]];
    let to = hex::decode(&TOKEN[2..]).unwrap().try_into().unwrap();
    let bare = payment(node.nonce().await);
    let asked = json!([{
        "from": owner(), "to": TOKEN, "data": format!("0x{}", hex::encode(call.concat())),
    }]);
    let estimate = as_number(&node.ask("eth_estimateGas", asked).await.unwrap());
    let signed = Transaction { to, value: 0, data: call.concat(), gas_limit: TOKEN_GAS, ..bare }
        .sign(&key(1));
    node.takes(&signed).await;
    node.mine().await;
    let (receipt, block) = (node.receipt(&signed).await, node.newest_block().await);
    assert_eq!(receipt["status"], "0x1");
    let used = as_number(&receipt["gasUsed"]);
    assert!(used <= estimate && estimate < u128::from(TOKEN_GAS), "{used} of {estimate}");
    let log = &receipt["logs"][0];
    assert_eq!(log["address"].as_str().unwrap().to_lowercase(), TOKEN);
    assert_eq!(log["topics"][1], format!("0x{}", address_word(&owner())));
    assert_eq!(log["topics"][2], format!("0x{}", address_word(&hex::encode(SOMEBODY))));
    assert_eq!(as_number(&log["data"]), 7);
    let all = node.ask("eth_getBlockReceipts", json!([block["hash"]])).await.unwrap();
    assert_eq!(all[0]["transactionHash"], signed.hash);
    assert_ne!(block["logsBloom"].as_str().unwrap().trim_start_matches(['0', 'x']), "");
}

/// A payment behind a gap waits until the gap is filled; then both are in one block.
async fn waits_behind_a_gap(node: &Node) {
    let nonce = node.nonce().await;
    let later = payment(nonce + 1).sign(&key(1));
    node.takes(&later).await;
    node.mine().await;
    assert!(node.waits(&later).await);
    assert_eq!(node.nonce().await, nonce);
    let first = payment(nonce).sign(&key(1));
    node.takes(&first).await;
    node.mine().await;
    assert_eq!(node.newest_block().await["transactions"], json!([first.hash, later.hash]));
    assert_eq!(node.nonce().await, nonce + 2);
}

fn raised(nonce: u64, priority_fee: u128, max_fee: u128) -> Signed {
    Transaction { value: 2, priority_fee, max_fee, ..payment(nonce) }.sign(&key(1))
}

/// The same nonce again needs higher fees; the one that it replaces is gone.
async fn replaces(node: &Node) {
    let nonce = node.nonce().await;
    let first = payment(nonce).sign(&key(1));
    node.takes(&first).await;
    node.refuses(&raised(nonce, GWEI, 10 * GWEI).raw, UNDERPRICED).await;
    let second = raised(nonce, GWEI * 2, 20 * GWEI);
    node.takes(&second).await;
    assert!(!node.waits(&first).await);
    node.mine().await;
    assert_eq!(node.newest_block().await["transactions"], json!([second.hash]));
    assert!(node.receipt(&first).await.is_null());
}

/// Anvil takes any higher price. Nodes of real networks ask for a tenth more in both fees (geth's
/// `txpool.pricebump`), and so does the fake one.
async fn asks_for_a_tenth_more(node: &Node) {
    let nonce = node.nonce().await;
    node.takes(&payment(nonce).sign(&key(1))).await;
    for (priority_fee, max_fee) in [(100, 1100), (110, 1090), (105, 1050)] {
        let other = raised(nonce, GWEI * priority_fee / 100, GWEI * max_fee / 100);
        node.refuses(&other.raw, UNDERPRICED).await;
    }
    node.takes(&raised(nonce, GWEI * 110 / 100, GWEI * 1100 / 100)).await;
    node.mine().await;
}

/// Whoever did not sign, or cannot pay, is refused, and nothing of it is mined.
async fn refuses(node: &Node) {
    let bare = payment(node.nonce().await);
    let other_chain = Transaction { chain_id: CHAIN_ID + 1, ..bare.clone() }.sign(&key(1));
    node.refuses(&other_chain.raw, &["chain id"]).await;
    let stranger = bare.clone().sign(&key(2));
    node.refuses(&stranger.raw, &["insufficient funds"]).await;
    let rich = Transaction { value: 2 * COIN, ..bare.clone() }.sign(&key(1));
    node.refuses(&rich.raw, &["insufficient funds"]).await;
    // The whole limit must be there, not only the gas that will be used.
    let balance = node.number("eth_getBalance").await;
    let limit = u64::try_from(balance / (10 * GWEI)).unwrap() + 1;
    let greedy = Transaction { gas_limit: limit, value: 0, ..bare.clone() }.sign(&key(1));
    node.refuses(&greedy.raw, &["insufficient funds"]).await;
    let tip = Transaction { priority_fee: 11 * GWEI, ..bare.clone() }.sign(&key(1));
    node.refuses(&tip.raw, &["max priority fee"]).await;

    let signed = bare.sign(&key(1));
    // Another amount under the same signature is somebody else's payment.
    let mut changed = signed.raw.clone();
    let value = changed.len() - 70;
    changed[value] ^= 3;
    node.refuses(&changed, &["insufficient funds", "cannot", "invalid", "decode"]).await;
    for cut in [0, 1, 20, signed.raw.len() - 1] {
        assert!(node.send_bytes(&signed.raw[..cut]).await.is_err(), "{cut} bytes");
    }
    node.mine().await;
    assert_eq!(node.newest_block().await["transactions"], json!([]));
    assert!(node.receipt(&signed).await.is_null());
    assert!(node.ask("eth_unheardOf", json!([])).await.unwrap_err().contains("-32601"));
}

async fn conforms(node: &Node) {
    let chain_id = node.ask("eth_chainId", json!([])).await.unwrap();
    assert_eq!(as_number(&chain_id), u128::from(CHAIN_ID));
    pays(node).await;
    pays_tokens(node).await;
    waits_behind_a_gap(node).await;
    replaces(node).await;
    refuses(node).await;
    // What was refused left no trace in the order of nonces.
    pays(node).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn anvil_behaves_as_payouts_expect_of_a_node() {
    conforms(&Node::real().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fake_node_behaves_as_anvil_does() {
    let node = Node::fake().await;
    conforms(&node).await;
    asks_for_a_tenth_more(&node).await;
}
