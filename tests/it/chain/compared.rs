//! Balances on chain compared with the rows, on every kind of node: no report if every payment was
//! seen, and one report of a missed payment. The tests of Polygon are in `paid_on_a_node`, beside
//! its other ones.

use gateway::{
    app::{deposit::reconcile::ReconcileError, market::set_currency::Change},
    asset::{Catalogue, Network},
    storage::balances::Difference,
};
use support::{
    node::{
        regtest::{Kind, Regtest},
        solana::SolanaNode,
        ton::TonNode,
    },
    shop::paying::{Paying, due, with_dear_coins, with_paying, with_paying_as},
};

use super::{
    conformance::{ChainUnderTest as _, Coin},
    stub::{
        driver::{Flavour, StubDriver},
        near::Near,
        thorchain::Thorchain,
        tron::Tron,
    },
};

/// Above the minimum of every currency.
const DOLLARS: u32 = 300;

/// Number of addresses that differ from the rows now.
async fn differ(paying: &Paying, network: Network) -> usize {
    paying.stack.gateway.reconcile(network).await.unwrap().unwrap().differ
}

async fn told(paying: &Paying) -> Vec<Difference> {
    paying.stack.gateway.balance_differences(None, 100).await.unwrap()
}

/// `pay` mines one block with the payments that it is given, and returns its height.
async fn compares(
    paying: &Paying,
    currency: &str,
    pay: impl AsyncFn(Option<(String, u128)>) -> u64,
) {
    let of_currency = Catalogue::get().all().iter().find(|c| c.code == currency).unwrap();
    let (network, decimals) = (of_currency.network, u32::from(of_currency.decimals));
    let invoice = paying.invoice_of(DOLLARS, currency).await;
    let (address, units) = due(&invoice, decimals);
    let (half, rest) = (units / 2, units - units / 2);
    paying.until_read(pay(Some((address.clone(), half))).await).await;
    let same = differ(paying, network).await;
    assert_eq!(
        same,
        0,
        "all was seen: {:?}",
        paying.stack.gateway.check_balance(network, &address).await
    );

    paying
        .stack
        .sql(
            "create function overlook() returns trigger language plpgsql as 'begin return null; end';
             create trigger overlook before insert on deposit for each row execute function overlook()",
        )
        .await;
    paying.until_read(pay(Some((address.clone(), rest))).await).await;
    paying.stack.sql("drop trigger overlook on deposit").await;
    assert_eq!(differ(paying, network).await, 1);
    assert!(told(paying).await.is_empty(), "it may be on its way into the rows");
    assert_eq!(differ(paying, network).await, 1);
    assert!(told(paying).await.is_empty(), "nothing was read meanwhile");
    for _ in 0..2 {
        paying.until_read(pay(None).await).await;
        differ(paying, network).await;
        let told = told(paying).await;
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].token_id, of_currency.token_id());
        assert_eq!(told[0].unexplained, rest.to_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_bitcoin_litecoin_and_dogecoin() {
    for network in [Network::Bitcoin, Network::Litecoin, Network::Dogecoin] {
        let kind = if network == Network::Bitcoin { Kind::Bitcoin } else { Kind::Litecoin };
        let node = Regtest::start(kind).await.unwrap();
        let genesis = node.genesis().await.unwrap();
        let settings = format!("rpc_url = {:?}\ngenesis = {genesis:?}", node.url());
        with_dear_coins(network, &settings, async |paying| {
            compares(&paying, Catalogue::get().native(network).code, async |payment| {
                if let Some((to, units)) = payment {
                    node.pay(&[(to, units.try_into().unwrap())]).await.unwrap();
                }
                node.mine(1).await.unwrap();
                node.height().await.unwrap()
            })
            .await;
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_solana() {
    let node = SolanaNode::start().await.unwrap();
    let usdt = Catalogue::get().by_token_id("usdtsol@solana").unwrap();
    let mint = node.mint(usdt.contract).await.unwrap();
    with_paying(Network::Solana, node.url(), async |paying| {
        paying.stack.gateway.fill_addresses(Network::Solana, 10).await.unwrap();
        compares(&paying, "usdtsol", async |payment| {
            if let Some(payment) = payment {
                node.pay_token(&mint, &[payment]).await.unwrap();
            }
            node.mine().await.unwrap()
        })
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_ton_whose_coins_shrink_and_whose_tokens_do_not() {
    let node = TonNode::start().await.unwrap();
    let usdt = Catalogue::get().by_token_id("usdtton@ton").unwrap();
    let master = node.token("Tether USD", usdt.contract).await.unwrap();
    with_paying(Network::Ton, node.url(), async |paying| {
        paying.stack.gateway.set_currency(usdt, Change::Enable).await.unwrap();
        compares(&paying, "usdtton", async |payment| {
            if let Some((to, units)) = payment {
                node.pay_token(&master, &to, units).await.unwrap();
            }
            node.mine().await.unwrap()
        })
        .await;
    })
    .await;
}

/// Over a stub, with `more` settings.
async fn on_a_stub<F: Flavour>(network: Network, currency: &str, coin: Coin, more: &str) {
    let chain = StubDriver::<F>::start().await;
    chain.mine_now();
    let settings = format!("rpc_url = {:?}\n{more}", chain.url());
    with_paying_as(network, &settings.replace("HERE", &chain.url()), async |paying| {
        compares(&paying, currency, async |payment| {
            match payment {
                Some((to, units)) => drop(chain.pay_now(coin, &to, units)),
                None => chain.mine_now(),
            }
            F::chain(&mut chain.node.node()).head().height
        })
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_tron() {
    on_a_stub::<Tron>(Network::Tron, "usdttrc20", Coin::Token, "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_thorchain() {
    on_a_stub::<Thorchain>(Network::Thorchain, "rune", Coin::Native, "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_near_where_a_node_reports_its_state() {
    let state = "state_url = \"HERE\"\n";
    on_a_stub::<Near>(Network::Near, "near", Coin::Native, state).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_reports_no_balances_is_noted_and_raises_no_difference() {
    let chain = StubDriver::<Near>::start().await;
    chain.mine_now();
    with_paying(Network::Near, chain.node.url(), async |paying| {
        let invoice = paying.invoice_of(DOLLARS, "near").await;
        let (address, units) = due(&invoice, 24);
        chain.pay_now(Coin::Native, &address, units);
        let gateway = &paying.stack.gateway;
        assert_eq!(gateway.reconcile(Network::Near).await.unwrap(), None);
        let asked = gateway.check_balance(Network::Near, &address).await.unwrap_err();
        assert!(matches!(asked, ReconcileError::CannotTell(Network::Near)), "{asked}");
        assert!(told(&paying).await.is_empty());
        let findings = gateway.doctor(Some(Network::Near)).await;
        let finding = findings.iter().find(|f| f.check == "address on near").unwrap();
        assert!(finding.detail.contains("does not report balances"), "{finding:?}");
        assert!(finding.advice.as_ref().unwrap().contains("chains.near.state_url"), "{finding:?}");
    })
    .await;
}
