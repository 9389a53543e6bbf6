//! A gateway that follows one node of a test, a shop with invoices, and the IPNs it gets.

use std::sync::Arc;

use crate::{
    server::{
        broker::eventually,
        stack::{Merchant, Stack, only, with_configured_stack},
    },
    shop::receiver::{Received, Receiver},
};
use gateway::{asset::Network, invoice::Status};
use serde_json::{Value, json};

pub struct Paying {
    pub stack: Arc<Stack>,
    merchant: Merchant,
    pub receiver: Receiver,
    network: Network,
}

/// Runs `test` over a gateway whose one network is read from the node at `rpc_url`.
pub async fn with_paying(network: Network, rpc_url: &str, test: impl AsyncFnOnce(Paying)) {
    with_paying_as(network, &format!("rpc_url = {rpc_url:?}"), test).await;
}

/// The same on a test chain whose first block has the hash `genesis`, if one is given.
pub async fn with_paying_on(
    network: Network,
    rpc_url: &str,
    genesis: Option<&str>,
    test: impl AsyncFnOnce(Paying),
) {
    let mut settings = format!("rpc_url = {rpc_url:?}");
    if let Some(genesis) = genesis {
        settings += &format!("\ngenesis = {genesis:?}");
    }
    with_paying_as(network, &settings, test).await;
}

/// The same with `settings` of the network, one per line, which include the node's address.
pub async fn with_paying_as(network: Network, settings: &str, test: impl AsyncFnOnce(Paying)) {
    with_rates(network, settings, "select 1", test).await;
}

/// The same with expensive coins, so that the few of a private node suffice.
pub async fn with_dear_coins(network: Network, settings: &str, test: impl AsyncFnOnce(Paying)) {
    with_rates(network, settings, "update rate set price = 10000", test).await;
}

async fn with_rates(
    network: Network,
    settings: &str,
    change: &'static str,
    test: impl AsyncFnOnce(Paying),
) {
    // Test nodes mine on request, and some choose their block times freely.
    let settings = format!("source = \"node\"\npoll_ms = 50\nhead_age_max_seconds = 0\n{settings}");
    let of_network = settings.lines().map(|setting| format!("chains.{network}.{setting}\n"));
    let toml: String = std::iter::once(only(network)).chain(of_network).collect();
    with_configured_stack(&toml, |stack| async move {
        stack.sql(change).await;
        stack.start_all();
        let merchant = stack.merchant().await;
        let receiver = Receiver::answering(200).await;
        let paying = Paying { stack, merchant, receiver, network };
        paying.until_watched().await;
        test(paying).await;
    })
    .await;
}

impl Paying {
    /// The first look starts at the chain tip; blocks mined after it are seen.
    async fn until_watched(&self) {
        let mut connection = self.stack.database.connect().await;
        eventually("the watcher's first look", async || {
            let query =
                "select 1 from chain_cursor where network = $1 and watched_through is not null";
            let query = sqlx::query_scalar::<_, i32>(query).bind(self.network.name());
            query.fetch_optional(&mut connection).await.unwrap()
        })
        .await;
    }

    /// Waits until the watcher has read block `height`.
    pub async fn until_read(&self, height: u64) {
        let height = i64::try_from(height).unwrap();
        let mut connection = self.stack.database.connect().await;
        eventually("the watcher reads the block", async || {
            let query = "select 1 from chain_cursor where network = $1 and height >= $2";
            let query = sqlx::query_scalar::<_, i32>(query).bind(self.network.name()).bind(height);
            query.fetch_optional(&mut connection).await.unwrap()
        })
        .await;
    }

    /// Waits until the watcher stands on the block with this hash.
    pub async fn until_at(&self, hash: &str) {
        let mut connection = self.stack.database.connect().await;
        eventually("the watcher reads the head", async || {
            let query = sqlx::query_scalar("select hash from chain_cursor where network = $1");
            let query = query.bind(self.network.name());
            let at: String = query.fetch_one(&mut connection).await.unwrap();
            (at == hash).then_some(())
        })
        .await;
    }

    /// Number of deposits in `state`, those in a block and those that wait for one.
    pub async fn deposits(&self, state: &str) -> (i64, i64) {
        let query = "select count(height), count(*) - count(height) from deposit where state = $1";
        let query = sqlx::query_as(query).bind(state);
        query.fetch_one(&mut self.stack.database.connect().await).await.unwrap()
    }

    /// Waits until the buyer sees so many base units that are not credited yet.
    pub async fn shows_unconfirmed(&self, invoice: &Value, units: u128) {
        let id = invoice["payment_id"].as_str().unwrap();
        eventually("the buyer sees the payment", async || {
            let status = self.stack.gateway.buyer_status(id).await.unwrap().unwrap();
            (status.asset.unwrap().unconfirmed.get() == units).then_some(())
        })
        .await;
    }

    pub async fn invoice(&self, pay_currency: &str) -> Value {
        self.invoice_of(25, pay_currency).await
    }

    /// Creates an invoice of this many dollars.
    pub async fn invoice_of(&self, dollars: u32, pay_currency: &str) -> Value {
        let body = json!({
            "price_amount": dollars, "price_currency": "usd", "pay_currency": pay_currency,
            "ipn_callback_url": self.receiver.url,
        });
        // A currency that was just enabled is offered within seconds.
        eventually("the currency is offered", async || {
            let answer = self.merchant.client.post("/v1/payment", &body).await;
            let is_known = answer.status != 400;
            assert!(answer.status == 201 || !is_known, "{}", answer.body);
            is_known.then(|| answer.json())
        })
        .await
    }

    pub async fn status(&self, invoice: &Value) -> String {
        let path = format!("/v1/payment/{}", invoice["payment_id"].as_str().unwrap());
        let answer = self.merchant.client.get(&path).await.json();
        answer["payment_status"].as_str().unwrap().to_owned()
    }

    /// Waits for the internal status; polling over HTTP would use up the rate limit.
    pub async fn becomes(&self, invoice: &Value, status: Status) {
        let id = invoice["payment_id"].as_str().unwrap();
        eventually(&format!("the invoice is {}", status.as_str()), async || {
            let now = self.stack.gateway.buyer_status(id).await.unwrap().unwrap();
            (now.status == status).then_some(())
        })
        .await;
    }

    /// The first `count` IPNs, verified; there are no more.
    pub async fn ipns(&self, count: usize) -> Vec<Value> {
        let received = self.receiver.wait_for(count).await;
        let secret = self.merchant.new.webhook_secret.reveal();
        received.iter().for_each(|ipn| ipn.verify(secret));
        assert_eq!(received.len(), count);
        received.iter().map(Received::json).collect()
    }
}

/// The address and the amount in base units.
pub fn due(invoice: &Value, decimals: u32) -> (String, u128) {
    let amount: rust_decimal::Decimal = invoice["pay_amount"].to_string().parse().unwrap();
    let units = amount * rust_decimal::Decimal::from(10_u128.pow(decimals));
    let units = units.normalize().to_string().parse().unwrap();
    (invoice["pay_address"].as_str().unwrap().to_owned(), units)
}
