//! A gateway with paid invoices on one network, the machine with the words, and the treasury.

use std::{ops::Deref, path::Path, process::Stdio};

use gateway::{
    asset::{Catalogue, Network, Realm},
    invoice::Status,
};
use serde_json::{Value, json};
use support::{
    client::ctl::{Ctl, Ran},
    node::{
        anvil::{Anvil, Call, address_word, call_data, word},
        regtest::{Kind, Regtest},
    },
    server::{broker::eventually, processes::program, scratch::Scratch},
    shop::paying::{Paying, due, with_dear_coins},
};
use tokio::{io::AsyncWriteExt, process::Command};

/// The phrase of the sandbox's keys.
pub const WORDS: &str = "test test test test test test test test test test test junk";
pub const CHAIN_ID: u64 = 313_371;
/// Depth at which deposits and sweeps are final.
pub const CONFIRMATIONS: u64 = 2;
pub const USDT: &str = "0xc2132d05d31c914a87c6611c10748aeb04b58e8f";
pub const USDC: &str = "0x3c499c542cef5e3811e1192ce70d8cc03d5c3359";
pub const TREASURY: &str = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
const SUPPLY: &str = "ffffffffffffffff";

/// The node of a scene.
pub enum Node {
    Anvil(Box<Anvil>),
    Regtest(Regtest),
}

pub struct Scene {
    pub paying: Paying,
    pub node: Node,
    pub network: Network,
    /// Where the database and the node are.
    pub ctl: Ctl,
    /// Where the words are: no server, and settings of its own.
    pub cold: Ctl,
    scratch: Scratch,
}

impl Deref for Scene {
    type Target = Paying;

    fn deref(&self) -> &Paying {
        &self.paying
    }
}

/// Runs `test` over Polygon on anvil, with the catalogue's USDT, and its USDC, which knows
/// authorizations.
pub async fn on_anvil<F: Future<Output = ()>>(test: impl FnOnce(Scene) -> F) {
    let anvil = Anvil::start(CHAIN_ID).await.unwrap();
    let token = anvil.deploy("Token").await.unwrap();
    anvil.place_token(&token, USDT, SUPPLY).await.unwrap();
    let authorized = anvil.deploy("Authorized").await.unwrap();
    anvil.place_token(&authorized, USDC, SUPPLY).await.unwrap();
    let settings = vec![
        ("rpc_url".to_owned(), format!("{:?}", anvil.url())),
        ("chain_id".to_owned(), CHAIN_ID.to_string()),
    ];
    let node = Node::Anvil(Box::new(anvil));
    with_scene((Network::Polygon, TREASURY.to_owned()), node, settings, test).await;
}

/// Runs `test` over a network on a real node of bitcoin or litecoin.
pub async fn on_regtest<F: Future<Output = ()>>(network: Network, test: impl FnOnce(Scene) -> F) {
    let kind = if network == Network::Bitcoin { Kind::Bitcoin } else { Kind::Litecoin };
    let node = Regtest::start(kind).await.unwrap();
    let settings = vec![
        ("rpc_url".to_owned(), format!("{:?}", node.url())),
        ("genesis".to_owned(), format!("{:?}", node.genesis().await.unwrap())),
    ];
    let treasury = nobody(network);
    with_scene((network, treasury), Node::Regtest(node), settings, test).await;
}

/// An address of the test network whose key nobody has, spelt as the gateway spells it.
fn nobody(network: Network) -> String {
    let owner = hex::encode(rand::random::<[u8; 20]>());
    let script = if network == Network::Dogecoin {
        format!("76a914{owner}88ac")
    } else {
        format!("0014{owner}")
    };
    let script = hex::decode(script).unwrap();
    gateway::asset::address::of_script(network, Realm::Regtest, &script).unwrap()
}

async fn with_scene<F: Future<Output = ()>>(
    (network, treasury): (Network, String),
    node: Node,
    mut settings: Vec<(String, String)>,
    test: impl FnOnce(Scene) -> F,
) {
    for name in ["confirmations", "large_confirmations"] {
        settings.push((name.to_owned(), CONFIRMATIONS.to_string()));
    }
    let lines: Vec<_> = settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    with_dear_coins(network, &lines.join("\n"), async |paying| {
        let variable =
            |section: &str, name: &str| format!("GATEWAY_{section}__{}", name.to_uppercase());
        let of_chain = format!("CHAINS__{}", network.name().to_uppercase());
        let pinned = |ctl: Ctl| {
            ctl.with(&variable("TREASURY", network.name()), &treasury)
                .with("GATEWAY_TREASURY__FEE_PERCENT_MAX", "20")
        };
        let mut ctl = pinned(Ctl::of(&paying.stack))
            .with(&variable(&of_chain, "source"), "node")
            .with("RUST_LOG", "error");
        let mut cold = pinned(Ctl::default());
        for (name, value) in &settings {
            let value = value.trim_matches('"');
            ctl = ctl.with(&variable(&of_chain, name), value);
            if name != "rpc_url" {
                cold = cold.with(&variable(&of_chain, name), value);
            }
        }
        let scratch = Scratch::new();
        test(Scene { paying, node, network, ctl, cold, scratch }).await;
    })
    .await;
}

impl Scene {
    pub fn anvil(&mut self) -> &mut Anvil {
        match &mut self.node {
            Node::Anvil(anvil) => anvil,
            Node::Regtest(_) => panic!("this scene has another node"),
        }
    }

    pub fn regtest(&self) -> &Regtest {
        match &self.node {
            Node::Regtest(node) => node,
            Node::Anvil(_) => panic!("this scene has another node"),
        }
    }

    pub async fn mine(&self, blocks: u64) {
        match &self.node {
            Node::Regtest(node) => node.mine(blocks).await.unwrap(),
            Node::Anvil(anvil) => {
                for _ in 0..blocks {
                    anvil.mine().await.unwrap();
                }
            }
        }
    }

    /// An invoice that is paid and finished: its address and amount in base units.
    pub async fn paid(&mut self, dollars: u32, currency: &str) -> (String, u128) {
        let invoice = self.invoice_of(dollars, currency).await;
        let entry = Catalogue::get().resolve(currency, Some(self.network.name())).unwrap();
        let (address, units) = due(&invoice, u32::from(entry.decimals));
        self.pay(&address, units, entry.contract).await;
        self.mine(CONFIRMATIONS + 1).await;
        self.paying.becomes(&invoice, Status::Paid).await;
        (address, units)
    }

    /// Pays an address, in the token if there is one.
    pub async fn pay(&mut self, to: &str, units: u128, token: Option<&str>) {
        match &mut self.node {
            Node::Regtest(node) => {
                let units = units.try_into().unwrap();
                node.pay(&[(to.to_owned(), units)]).await.unwrap();
            }
            Node::Anvil(anvil) if token.is_some() => {
                let words = [address_word(to), word(&format!("{units:x}"))];
                let data = call_data("transfer(address,uint256)", &words);
                let call = Call { to: token, value: "0x0".to_owned(), data };
                anvil.send(anvil.deployer(), &call).await.unwrap();
            }
            Node::Anvil(anvil) => {
                let from = anvil.next_account();
                let value = format!("{units:#x}");
                let call = Call { to: Some(to), value, data: "0x".to_owned() };
                anvil.send(&from, &call).await.unwrap();
            }
        }
    }

    /// Waits until this many deposits are booked.
    pub async fn until_settled(&self, count: i64) {
        eventually("the deposits are booked", async || {
            let (in_blocks, _) = self.deposits("settled").await;
            (in_blocks == count).then_some(())
        })
        .await;
    }

    /// A name for a file that does not exist.
    pub fn file(&self, name: &str) -> String {
        self.scratch.fresh(name).to_str().unwrap().to_owned()
    }

    pub async fn plan(&self) -> (Value, String) {
        self.plan_with(&[]).await
    }

    pub async fn plan_with(&self, more: &[&str]) -> (Value, String) {
        let file = self.file("plan");
        let arguments = ["sweep", "plan", "--network", self.network.name(), "--out", &file];
        (self.ctl.json(&[&arguments[..], more].concat()).await, file)
    }

    /// The wallet that pays for gas, with some coins; set where plans are made.
    pub async fn with_gas_payer(&mut self) -> String {
        let told = self.cold.run_with_input(&["--json", "sweep", "gas-payer"], WORDS).await;
        let address = told.expect_ok().json()["gas_payer"].as_str().unwrap().to_owned();
        self.anvil().set_coins(&address, 10_u128.pow(18)).await.unwrap();
        self.ctl = self.ctl.clone().with("GATEWAY_TREASURY__GAS_PAYER", &address);
        address
    }

    pub async fn sign(&self, plan: &str) -> String {
        let file = self.file("signed");
        self.signed_by(&self.cold, plan, &file).await.expect_ok();
        file
    }

    pub async fn signed_by(&self, cold: &Ctl, plan: &str, file: &str) -> Ran {
        cold.run_with_input(&["sweep", "sign", plan, "--yes", "--out", file], WORDS).await
    }

    /// Mines and looks until a plan has ended; its status.
    pub async fn until_ended(&self, id: &str) -> Value {
        eventually("the sweep is final", async || {
            self.mine(1).await;
            let _looked = self.ctl.run(&["sweep", "send", "--id", id, "--once"]).await;
            let status = self.ctl.json(&["sweep", "status", id]).await;
            let open = status["transactions"].as_array().unwrap().iter();
            let open = open.filter(|one| one["ended_at"].is_null()).count();
            (open == 0).then_some(status)
        })
        .await
    }

    /// From the plan to its end; its status.
    pub async fn collect(&self) -> Value {
        let (planned, plan) = self.plan().await;
        let signed = self.sign(&plan).await;
        self.ctl.run(&["sweep", "send", &signed, "--once"]).await.expect_ok();
        self.until_ended(planned["plan_id"].as_str().unwrap()).await
    }

    /// Runs a command that dies at a moment.
    pub async fn dies(&self, moment: &str, arguments: &[&str]) {
        let mut command = Command::new(program("gatewayctl"));
        command.args(arguments).env_clear().envs(self.ctl.environment().iter().cloned());
        command.env("FAIL_POINT", moment).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().shutdown().await.unwrap();
        let output = child.wait_with_output().await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(&format!("dies at {moment}")), "{moment}: {said}");
        assert_eq!(output.status.code(), None, "{moment}");
    }

    /// Balance of a ledger account in one asset, negative where coins came from it.
    pub async fn booked(&self, account: &str, asset: &str) -> i128 {
        let query = "select (coalesce(sum(case when credit = $1 then amount else -amount end), 0))::text \
                     from ledger_entry where $1 in (credit, debit) and asset = $2";
        let query = sqlx::query_scalar::<_, String>(query).bind(account).bind(asset);
        let sum = query.fetch_one(&mut self.stack.database.connect().await).await.unwrap();
        sum.parse().unwrap()
    }

    pub async fn count(&self, query: &'static str) -> i64 {
        let query = sqlx::query_scalar::<_, i64>(query);
        query.fetch_one(&mut self.stack.database.connect().await).await.unwrap()
    }

    pub async fn execute(&self, statement: &str) {
        let mut connection = self.stack.database.connect().await;
        sqlx::query(sqlx::AssertSqlSafe(statement.to_owned()))
            .execute(&mut connection)
            .await
            .unwrap();
    }

    /// Nothing is booked twice, the comparison of balances finds no difference, and the ledger
    /// agrees with the rows.
    pub async fn is_sound(&self) {
        let twice = "select count(*) from (select source from ledger_entry where kind = 'sweep' \
                     group by source having count(*) > 1) as twice";
        assert_eq!(self.count(twice).await, 0);
        for _ in 0..3 {
            self.mine(1).await;
            // The watcher may be on its way to the newest block.
            eventually("balances are compared", async || {
                self.stack.gateway.reconcile(self.network).await.ok()
            })
            .await;
        }
        assert_eq!(self.ctl.json(&["balances", "list"]).await, json!([]));
        let verdict = self.ctl.json(&["ledger", "verify"]).await;
        assert_eq!(verdict["faults"], json!(0), "{verdict}");
    }
}

/// The content of a file.
pub fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(file)).unwrap()
}

/// The transactions of a status, in one state.
pub fn in_state<'a>(status: &'a Value, state: &str) -> Vec<&'a Value> {
    let all = status["transactions"].as_array().unwrap().iter();
    all.filter(|one| one["state"] == state).collect()
}

/// Gives an address an index at which these words have another.
pub fn of_another_seed(address: &str) -> String {
    format!("update deposit_address set derivation_index = 1000000 where address = '{address}'")
}
