//! What payments depend on in a node, asked of bitcoind and of the fake node alike: the fake passes what the real one does.

use gateway::{
    asset::{Network, Realm, address},
    chain::pay::utxo::{
        spend::{Coin, Lock, Pay, Terms, plan},
        transaction::{Replaceable, sign, unsigned},
    },
};
use serde_json::{Value, json};
use support::{
    fake_utxo::FakeUtxo,
    json_rpc,
    regtest::{Kind, Regtest},
};

/// What pays the private key 1.
const OWN: &str = "0014751e76e8199196d454941c45d1b3a323f1433bd6";
const UNITS: u64 = 100_000;

enum Node {
    Real(Regtest),
    Fake(FakeUtxo),
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
    async fn coin(&self) -> Coin {
        match self {
            Self::Real(node) => {
                let script = hex::decode(OWN).unwrap();
                let to = address::of_script(Network::Bitcoin, Realm::Regtest, &script).unwrap();
                node.pay(&[(to, UNITS)]).await.unwrap();
                node.mine(1).await.unwrap();
            }
            Self::Fake(node) => node.fund(OWN, UNITS),
        }
        let tip = self.ask("getblockcount", json!([])).await.unwrap();
        let hash = self.ask("getblockhash", json!([tip])).await.unwrap();
        let block = self.ask("getblock", json!([hash, 2])).await.unwrap();
        let funding = &block["tx"][1];
        let outputs = funding["vout"].as_array().unwrap();
        let is_ours = |o: &&Value| {
            o["scriptPubKey"]["hex"] == OWN
                && o["value"].to_string().trim_end_matches('0') == "0.001"
        };
        let ours = outputs.iter().find(is_ours).unwrap();
        let outpoint = format!("{}:{}", funding["txid"].as_str().unwrap(), ours["n"]);
        Coin { outpoint, amount: UNITS }
    }

    async fn ask(&self, method: &str, params: Value) -> Result<Value, String> {
        json_rpc::call(self.url(), method, params).await.map_err(|error| error.to_string())
    }

    #[track_caller]
    fn has_code(answer: &Result<Value, String>, code: i64) {
        let text = answer.as_ref().expect_err("it is refused");
        assert!(text.contains(&format!("\"code\":{code}")), "{text}");
    }
}

/// A payment of one coin at a rate: its bytes before and after the signature, and its id.
fn payment(coin: &Coin, amount: u64, fee_rate: u64) -> (String, String, String) {
    let own = hex::decode(OWN).unwrap();
    let outputs = [Pay { script: [&[0x00, 0x14][..], &[9; 20]].concat(), amount }];
    let terms = Terms {
        lock: Lock::Witness,
        fee_rate,
        fee_extra: 0,
        fee_max: u64::MAX,
        fee_rate_floor: 1,
        dust: 546,
        every_coin: true,
        change_script_bytes: own.len(),
    };
    let spend = plan(std::slice::from_ref(coin), &outputs, &terms).unwrap();
    let bare = unsigned(&spend, &outputs, &own, Replaceable::Yes).unwrap();
    let mut one = [0; 32];
    one[31] = 1;
    let key = k256::ecdsa::SigningKey::from_slice(&one).unwrap();
    let signed = sign(bare.clone(), &spend, Lock::Witness, &own, &key).unwrap();
    let text = |tx| hex::encode(bitcoin::consensus::encode::serialize(tx));
    (text(&bare), text(&signed), signed.compute_txid().to_string())
}

async fn verdict(node: &Node, raw: &str) -> String {
    let told = node.ask("testmempoolaccept", json!([[raw]])).await.unwrap();
    assert_eq!(told[0]["allowed"], false);
    told[0]["reject-reason"].as_str().unwrap().to_owned()
}

async fn behaves(node: &Node) {
    let coin = node.coin().await;
    let (hash, n) = coin.outpoint.split_once(':').unwrap();
    let spent = json!([hash, n.parse::<u32>().unwrap(), false]);
    let (bare, first, first_id) = payment(&coin, 20_000, 5);
    let (dust, _, _) = payment(&coin, 200, 5);
    let (_, second, second_id) = payment(&coin, 20_000, 20);

    assert_ne!(verdict(node, &bare).await, verdict(node, &dust).await, "dust shows unsigned");
    let again = verdict(node, &payment(&coin, 30_000, 5).0).await;
    assert_eq!(verdict(node, &bare).await, again, "what is no dust does not");
    assert!(node.ask("sendrawtransaction", json!([bare])).await.is_err());

    Node::has_code(&node.ask("getmempoolentry", json!([first_id])).await, -5);
    for _ in 0..2 {
        let told = node.ask("sendrawtransaction", json!([first])).await.unwrap();
        assert_eq!(told, json!(first_id), "handed in twice, it is the same");
    }
    assert!(node.ask("getmempoolentry", json!([first_id])).await.is_ok());
    assert!(!node.ask("gettxout", spent.clone()).await.unwrap().is_null(), "not in a block yet");

    assert_eq!(node.ask("sendrawtransaction", json!([second])).await.unwrap(), json!(second_id));
    Node::has_code(&node.ask("getmempoolentry", json!([first_id])).await, -5);
    Node::has_code(&node.ask("sendrawtransaction", json!([first])).await, -26);
    let stranger = Coin { outpoint: format!("{}:0", "ab".repeat(32)), amount: UNITS };
    let (_, orphan, _) = payment(&stranger, 20_000, 5);
    Node::has_code(&node.ask("sendrawtransaction", json!([orphan])).await, -25);

    node.mine().await;
    Node::has_code(&node.ask("getmempoolentry", json!([second_id])).await, -5);
    Node::has_code(&node.ask("sendrawtransaction", json!([second])).await, -27);
    Node::has_code(&node.ask("sendrawtransaction", json!([first])).await, -25);
    assert!(node.ask("gettxout", spent).await.unwrap().is_null());
    let paid = node.ask("gettxout", json!([second_id, 0, false])).await.unwrap();
    assert_eq!(paid["confirmations"], 1);
    let tip = node.ask("getblockcount", json!([])).await.unwrap();
    let hash = node.ask("getblockhash", json!([tip])).await.unwrap();
    let block = node.ask("getblock", json!([hash, 1])).await.unwrap();
    assert!(block["tx"].as_array().unwrap().contains(&json!(second_id)));
    let above = json!([tip.as_u64().unwrap() + 1]);
    Node::has_code(&node.ask("getblockhash", above).await, -8);
    assert!(node.ask("estimatesmartfee", json!([6])).await.unwrap()["feerate"].is_null());
    assert!(node.ask("getmempoolinfo", json!([])).await.unwrap()["mempoolminfee"].is_number());
}

#[tokio::test]
async fn the_fake_node_behaves_as_bitcoind_does() {
    let real = Regtest::start_with(Kind::Bitcoin, &["-dustrelayfee=0.00003"]).await.unwrap();
    behaves(&Node::Real(real)).await;
    behaves(&Node::Fake(FakeUtxo::start(1).await)).await;
}
