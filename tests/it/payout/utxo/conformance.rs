//! Node behaviour that payments depend on, checked for bitcoind, litecoind and the fake nodes
//! alike: a fake passes the same checks as the real one. No dogecoin node is available, so
//! litecoin's replaces it: with dogecoin's prices and P2PKH keys it behaves like the fake one.
//! Further differences of dogecoin (dust limits, no test before a signature) are checked on no real
//! node.

use gateway::{
    asset::{Network, Realm, address},
    chain::pay::utxo::{
        spend::{Coin, Lock, Pay, Terms, plan},
        transaction::{Replaceable, sign, unsigned},
    },
    money::BaseUnits,
};
use serde_json::{Value, json};
use support::node::{
    fake_utxo::FakeUtxo,
    json_rpc,
    regtest::{Kind, Regtest},
};

const LOW: u64 = 5;
const HIGH: u64 = 20;
const CONFIRMED: u64 = 100_000;
const PAID: u64 = 20_000;

/// Lock of the coins, and value of a unit of this test.
#[derive(Clone, Copy)]
struct Ways {
    network: Network,
    lock: Lock,
    /// Script of the private key 1.
    own: &'static str,
    units: u64,
    rate: u64,
}

const BITCOIN: Ways = Ways {
    network: Network::Bitcoin,
    lock: Lock::Witness,
    own: "0014751e76e8199196d454941c45d1b3a323f1433bd6",
    units: 1,
    rate: 1,
};
const LITECOIN: Ways = Ways { network: Network::Litecoin, ..BITCOIN };
const DOGECOIN: Ways = Ways {
    network: Network::Dogecoin,
    lock: Lock::Legacy,
    own: "76a914751e76e8199196d454941c45d1b3a323f1433bd688ac",
    units: 100,
    rate: 200,
};

enum Node {
    Real(Regtest),
    Fake(FakeUtxo),
}

/// A payment, signed and unsigned.
struct Payment {
    bare: String,
    signed: String,
    id: String,
    change: Coin,
}

impl Node {
    fn url(&self) -> &str {
        match self {
            Self::Real(node) => node.url(),
            Self::Fake(node) => node.url(),
        }
    }

    async fn mine(&self) {
        match self {
            Self::Real(node) => node.mine(1).await.unwrap(),
            Self::Fake(node) => node.mine(1),
        }
    }

    /// A confirmed output of the key.
    async fn coin(&self, ways: Ways) -> Coin {
        let units = CONFIRMED * ways.units;
        match self {
            Self::Real(node) => {
                let script = hex::decode(ways.own).unwrap();
                // Litecoind replaces dogecoin.
                let is_bitcoin = ways.network == Network::Bitcoin;
                let network = if is_bitcoin { Network::Bitcoin } else { Network::Litecoin };
                let to = address::of_script(network, Realm::Regtest, &script).unwrap();
                let (txid, _) = node.pay(&[(to, units)]).await.unwrap();
                node.mine_exactly(&[txid]).await.unwrap();
            }
            Self::Fake(node) => node.fund(ways.own, units),
        }
        let tip = self.ask("getblockcount", json!([])).await.unwrap();
        let hash = self.ask("getblockhash", json!([tip])).await.unwrap();
        let block = self.ask("getblock", json!([hash, 2])).await.unwrap();
        let funding = &block["tx"][1];
        let outputs = funding["vout"].as_array().unwrap();
        let has = |value: &Value| BaseUnits::parse(&value.to_string(), 8).unwrap().get();
        let is_ours = |o: &&Value| {
            o["scriptPubKey"]["hex"] == ways.own && has(&o["value"]) == u128::from(units)
        };
        let ours = outputs.iter().find(is_ours).unwrap();
        let outpoint = format!("{}:{}", funding["txid"].as_str().unwrap(), ours["n"]);
        Coin { outpoint, amount: units }
    }

    async fn ask(&self, method: &str, params: Value) -> Result<Value, String> {
        json_rpc::call(self.url(), method, params).await.map_err(|error| error.to_string())
    }

    async fn send(&self, raw: &str) -> Result<Value, String> {
        self.ask("sendrawtransaction", json!([raw])).await
    }

    async fn takes(&self, payment: &Payment) {
        assert_eq!(self.send(&payment.signed).await.unwrap(), json!(payment.id));
    }

    async fn waits(&self, payment: &Payment) -> bool {
        self.ask("getmempoolentry", json!([payment.id])).await.is_ok()
    }

    async fn refuses(&self, payment: &Payment, code: i64) {
        Self::has_code(&self.send(&payment.signed).await, &[code]);
    }

    async fn newest_block(&self) -> Vec<Value> {
        let tip = self.ask("getblockcount", json!([])).await.unwrap();
        let hash = self.ask("getblockhash", json!([tip])).await.unwrap();
        let block = self.ask("getblock", json!([hash, 1])).await.unwrap();
        block["tx"].as_array().unwrap().clone()
    }

    async fn verdict(&self, raw: &str) -> String {
        let told = self.ask("testmempoolaccept", json!([[raw]])).await.unwrap();
        assert_eq!(told[0]["allowed"], false);
        told[0]["reject-reason"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn has_code(answer: &Result<Value, String>, codes: &[i64]) {
        let text = answer.as_ref().expect_err("it is refused");
        let has = |code: &i64| text.contains(&format!("\"code\":{code}"));
        assert!(codes.iter().any(has), "{text}");
    }
}

impl Ways {
    /// Payment of one coin at a rate: to a recipient, or only back to the coin's owner.
    fn payment(self, coin: &Coin, amount: Option<u64>, rate: u64) -> Payment {
        let own = hex::decode(self.own).unwrap();
        let somebody = match self.lock {
            Lock::Witness => [&[0x00, 0x14][..], &[9; 20]].concat(),
            Lock::Legacy => [&[0x76, 0xa9, 0x14][..], &[9; 20], &[0x88, 0xac]].concat(),
        };
        let pay = |amount| Pay { script: somebody.clone(), amount: amount * self.units };
        let outputs: Vec<_> = amount.map(pay).into_iter().collect();
        let terms = Terms {
            lock: self.lock,
            fee_rate: rate * self.rate,
            fee_extra: 0,
            fee_max: u64::MAX,
            fee_rate_floor: 1,
            fee_limit: u64::MAX,
            dust: 546,
            every_coin: true,
            change_script_bytes: own.len(),
        };
        let spend = plan(std::slice::from_ref(coin), &outputs, &terms).unwrap();
        let yields = self.network == Network::Bitcoin;
        let yields = if yields { Replaceable::Yes } else { Replaceable::No };
        let bare = unsigned(&spend, &outputs, &own, yields).unwrap();
        let mut one = [0; 32];
        one[31] = 1;
        let key = k256::ecdsa::SigningKey::from_slice(&one).unwrap();
        let signed = sign(bare.clone(), &spend, self.lock, &own, &key).unwrap();
        let text = |tx| hex::encode(bitcoin::consensus::encode::serialize(tx));
        let id = signed.compute_txid().to_string();
        let outpoint = format!("{id}:{}", outputs.len());
        let change = Coin { outpoint, amount: spend.change.unwrap() };
        Payment { bare: text(&bare), signed: text(&signed), id, change }
    }
}

fn place(coin: &Coin) -> Value {
    let (hash, n) = coin.outpoint.split_once(':').unwrap();
    json!([hash, n.parse::<u32>().unwrap(), false])
}

/// Tests outputs on a node before they are signed.
async fn tests_outputs(node: &Node, ways: Ways, coin: &Coin) {
    let paid = ways.payment(coin, Some(PAID), LOW);
    let dust = ways.payment(coin, Some(200), LOW);
    let said = node.verdict(&paid.bare).await;
    assert_ne!(said, node.verdict(&dust.bare).await, "dust shows unsigned");
    let again = ways.payment(coin, Some(PAID + 10_000), LOW);
    assert_eq!(said, node.verdict(&again.bare).await, "what is no dust does not");
}

/// A payment is accepted, a second one of the same coin only where a higher fee replaces it, and
/// one of them is mined.
async fn behaves(node: &Node, ways: Ways) {
    let coin = node.coin(ways).await;
    if ways.network != Network::Dogecoin {
        tests_outputs(node, ways, &coin).await;
    }
    let first = ways.payment(&coin, Some(PAID), LOW);
    let second = ways.payment(&coin, Some(PAID), HIGH);
    assert!(node.send(&first.bare).await.is_err());
    Node::has_code(&node.ask("getmempoolentry", json!([first.id])).await, &[-5]);
    for _ in 0..2 {
        // Submitted twice, it is the same.
        node.takes(&first).await;
    }
    assert!(node.waits(&first).await);
    let spent = node.ask("gettxout", place(&coin)).await.unwrap();
    assert!(!spent.is_null(), "not in a block yet");

    let replaces = ways.network == Network::Bitcoin;
    let (winner, loser) = if replaces {
        node.takes(&second).await;
        Node::has_code(&node.ask("getmempoolentry", json!([first.id])).await, &[-5]);
        (second, first)
    } else {
        (first, second)
    };
    node.refuses(&loser, -26).await;
    assert!(node.waits(&winner).await);
    let stranger = Coin { outpoint: format!("{}:0", "ab".repeat(32)), amount: coin.amount };
    node.refuses(&ways.payment(&stranger, Some(PAID), LOW), -25).await;

    node.mine().await;
    Node::has_code(&node.ask("getmempoolentry", json!([winner.id])).await, &[-5]);
    node.refuses(&winner, -27).await;
    Node::has_code(&node.send(&loser.signed).await, &[-25, -26]);
    assert!(node.ask("gettxout", place(&coin)).await.unwrap().is_null());
    let paid = node.ask("gettxout", json!([winner.id, 0, false])).await.unwrap();
    assert_eq!(paid["confirmations"], 1);
    assert!(node.newest_block().await.contains(&json!(winner.id)));
}

/// Miners ask for a higher fee rate than a payment offers: it stays pending until its child, of
/// which there can be one, pays for both (CPFP).
async fn lets_children_pay(node: &Node, ways: Ways) {
    let coin = node.coin(ways).await;
    let parent = ways.payment(&coin, Some(PAID), LOW);
    let child = ways.payment(&parent.change, None, HIGH);
    let other = ways.payment(&parent.change, None, HIGH + 1);
    node.refuses(&child, -25).await;
    node.takes(&parent).await;
    node.mine().await;
    assert!(node.waits(&parent).await, "nobody mines it");
    node.takes(&child).await;
    if ways.network != Network::Bitcoin {
        node.refuses(&other, -26).await;
    }
    assert!(node.ask("gettxout", place(&parent.change)).await.unwrap().is_null());
    node.mine().await;
    let mined = node.newest_block().await;
    let at = |payment: &Payment| mined.iter().position(|id| *id == json!(payment.id));
    assert!(at(&parent).is_some() && at(&parent) < at(&child), "{mined:?}");
    node.refuses(&child, -27).await;
    assert!(node.ask("gettxout", place(&parent.change)).await.unwrap().is_null());
    Node::has_code(&node.send(&other.signed).await, &[-25, -26]);
}

/// Requests to a node without a payment.
async fn tells_of_itself(node: &Node) {
    let tip = node.ask("getblockcount", json!([])).await.unwrap().as_u64().unwrap();
    Node::has_code(&node.ask("getblockhash", json!([tip + 1])).await, &[-8]);
    let estimate = node.ask("estimatesmartfee", json!([6])).await.unwrap();
    assert!(estimate["feerate"].is_null() || estimate["feerate"] == -1);
    assert!(node.ask("getmempoolinfo", json!([])).await.unwrap()["mempoolminfee"].is_number());
}

/// Two real nodes: one with a dust limit of its own, and one that mines nothing below twice the
/// lower price.
async fn conforms(ways: Ways, kind: Kind, [dust, dear]: [&'static [&'static str]; 2]) {
    let real = Node::Real(Regtest::start_with(kind, dust).await.unwrap());
    behaves(&real, ways).await;
    tells_of_itself(&real).await;
    let real = Node::Real(Regtest::start_with(kind, dear).await.unwrap());
    lets_children_pay(&real, ways).await;

    let fake = Node::Fake(FakeUtxo::start(ways.network, 1).await);
    behaves(&fake, ways).await;
    tells_of_itself(&fake).await;
    let dear = FakeUtxo::start(ways.network, 2).await;
    dear.set_price(2 * LOW * ways.rate);
    lets_children_pay(&Node::Fake(dear), ways).await;
}

#[tokio::test]
async fn the_fake_node_behaves_as_bitcoind_does() {
    let arguments: [&[_]; 2] = [&["-dustrelayfee=0.00003"], &["-blockmintxfee=0.0001"]];
    conforms(BITCOIN, Kind::Bitcoin, arguments).await;
}

#[tokio::test]
async fn the_fake_node_behaves_as_litecoind_does() {
    let arguments: [&[_]; 2] = [&["-dustrelayfee=0.0003"], &["-blockmintxfee=0.0001"]];
    conforms(LITECOIN, Kind::Litecoin, arguments).await;
}

#[tokio::test]
async fn the_fake_node_of_dogecoin_behaves_as_litecoind_does_in_its_place() {
    let arguments: [&[_]; 2] = [&["-dustrelayfee=0.0003"], &["-blockmintxfee=0.02"]];
    conforms(DOGECOIN, Kind::Litecoin, arguments).await;
}
