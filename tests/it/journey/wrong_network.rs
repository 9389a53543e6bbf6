//! The right address on the wrong network: found, kept apart, and reported to the merchant.

use gateway::{
    app::sandbox::simulate::{Deposit, PaidIn, Payee},
    asset::{Family, Network, catalogue::Catalogue},
    invoice::Status,
    merchant::settings::Settings,
};
use gateway_workers::Role;
use serde_json::json;
use support::{server::stack::with_configured_stack, shop::Shop};

fn evm() -> Vec<Network> {
    Network::ALL.into_iter().filter(|network| network.family() == Family::Evm).collect()
}

/// An invoice in the coin of `network`: its id and its address.
async fn invoice(shop: &Shop, network: Network) -> (String, String) {
    let coin = Catalogue::get().native(network);
    let body = json!({
        "price_amount": 700, "price_currency": "usd", "pay_currency": coin.symbol,
        "network": network.name(), "ipn_callback_url": shop.receiver.url,
    });
    let created = shop.merchant.client.post("/v1/payment", &body).await;
    assert_eq!(created.status, 201, "{}", created.body);
    let text = |field: &str| created.json()[field].as_str().unwrap().to_owned();
    (text("payment_id"), text("pay_address"))
}

async fn pay_on(shop: &Shop, network: Network, address: &str) {
    let payee = Payee::Address { network, address: address.to_owned() };
    let deposit = Deposit {
        payee,
        paid_in: PaidIn::default(),
        amount: "1".into(),
        txid: None,
        unconfirmed: false,
    };
    shop.send(&deposit).await;
}

/// Every EVM network against every other, and an EVM address on NEAR, which accepts it as an
/// account of the same key.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_on_another_network_that_shares_the_address_is_reported_as_a_wrong_token() {
    let others = Network::ALL.into_iter().filter(|n| !n.address_families().contains(&Family::Evm));
    let off: String = others.map(|other| format!("chains.{other}.source = \"off\"\n")).collect();
    with_configured_stack(&off, |stack| async move {
        let shop = Shop::open(&stack, Settings::default()).await;
        stack.start(&[Role::DepositMatching, Role::IpnDelivery]);
        let networks: Vec<_> = evm().into_iter().chain([Network::Near]).collect();
        for network in &networks {
            shop.look(*network).await;
        }
        let mut pairs = Vec::new();
        for asked in evm() {
            for paid in networks.iter().copied().filter(|paid| *paid != asked) {
                let (id, address) = invoice(&shop, asked).await;
                // NEAR knows no capitals.
                let address = if paid == Network::Near { address.to_lowercase() } else { address };
                pay_on(&shop, paid, &address).await;
                pairs.push((asked, paid, id));
            }
        }
        assert_eq!(pairs.len(), 7 * 7);
        for network in &networks {
            shop.look(*network).await;
        }
        for (asked, paid, id) in &pairs {
            let ipn = shop.webhook_about(id, 1).await;
            let notice = &ipn["_gateway"]["notice"];
            assert_eq!(notice["type"], "wrong_token_received", "{asked} paid on {paid}");
            assert_eq!(notice["network"], paid.name(), "{asked} paid on {paid}");
            assert_eq!(notice["currency"], Catalogue::get().native(*paid).code);
            assert_eq!(ipn["payment_status"], "waiting", "{asked} paid on {paid}");
            assert_eq!(shop.status(id).await, Status::Pending);
            let books = shop.books(id).await;
            assert_eq!(books.len(), 1, "{books:?}");
            assert_eq!(books[0].debit, format!("custody:{paid}"));
            assert_eq!(books[0].credit, shop.account("foreign"));
        }
    })
    .await;
}
