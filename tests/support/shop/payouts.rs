//! Mass payouts for tests: orders, their funding, and an oracle that reads the chain.

use std::{collections::BTreeMap, sync::Arc};

use gateway::{
    app::{
        Gateway,
        payout::{Confirmation, NewOrder, Story},
        sandbox::simulate::{Deposit, PaidIn, Payee, Simulated},
    },
    asset::Network,
    merchant::settings::Settings,
    money::BaseUnits,
    payout::{
        FeeMode, PayoutFamily,
        recipients::{Amount, Row},
    },
    storage::access::Caller,
};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use crate::{
    server::{
        broker::eventually,
        stack::{Merchant, Stack},
    },
    shop::receiver::{Received, Receiver},
};

/// One merchant with a receiver for the events of their orders.
pub struct Payer {
    pub stack: Arc<Stack>,
    pub merchant: Merchant,
    pub receiver: Receiver,
}

impl Payer {
    pub async fn open(stack: &Arc<Stack>) -> Self {
        let receiver = Receiver::answering(200).await;
        let payout_webhook_url = Some(receiver.url.clone());
        let settings = Settings { payout_webhook_url, ..Settings::default() };
        let merchant = stack.merchant_with(settings).await;
        Self { stack: stack.clone(), merchant, receiver }
    }

    /// A draft of `rows` recipients; `fields` are added.
    pub async fn draft(&self, path: &str, fields: Value) -> Value {
        let created = self.merchant.client.post(path, &fields).await;
        assert_eq!(created.status, 201, "{}", created.body);
        created.json()["data"].clone()
    }

    /// Confirms and returns the order as it is then.
    pub async fn confirm(&self, path: &str, id: &str) -> Value {
        let confirmed =
            self.merchant.client.post(&format!("{path}/{id}/confirm"), &json!({})).await;
        assert_eq!(confirmed.status, 200, "{}", confirmed.body);
        confirmed.json()["data"].clone()
    }

    /// Sends `units` base units of the order's asset to its address, confirmed at once.
    pub async fn fund(&self, order: &Value, units: u128) -> Simulated {
        self.fund_as(order, units, None).await
    }

    /// The same in a transaction of this id.
    pub async fn fund_in(&self, order: &Value, units: u128, txid: &str) -> Simulated {
        self.fund_as(order, units, Some(txid.to_owned())).await
    }

    async fn fund_as(&self, order: &Value, units: u128, txid: Option<String>) -> Simulated {
        send_to(&self.stack.gateway, order, units, txid).await
    }

    pub async fn story(&self, id: &str) -> Story {
        self.stack.gateway.explain_payout(id).await.unwrap()
    }

    /// Waits until the order is in `state`. Reads the gateway directly: polling would use up the
    /// merchant's rate limit.
    pub async fn becomes(&self, id: &str, state: &str) -> Story {
        eventually(&format!("{id} is {state}"), async || {
            Some(self.story(id).await).filter(|story| story.order.state.as_str() == state)
        })
        .await
    }

    /// Waits until the order holds nothing and its refund is final.
    pub async fn settles(&self, id: &str) -> Story {
        eventually(&format!("{id} owes nothing"), async || {
            Some(self.story(id).await).filter(|story| {
                let books = story.order.books;
                story.order.state.is_terminal()
                    && books.left().is_zero()
                    && books.reserved.is_zero()
            })
        })
        .await
    }

    /// The events that arrived so far, in the order in which they came, each verified.
    pub fn events(&self) -> Vec<Value> {
        self.receiver.received().iter().map(|received| self.verified(received)).collect()
    }

    /// Waits for `count` events and names them.
    pub async fn event_names(&self, count: usize) -> Vec<String> {
        self.receiver.wait_for(count).await;
        let name = |event: &Value| {
            event["eventType"].as_str().unwrap().strip_prefix("mass_payout.").unwrap().to_owned()
        };
        self.events().iter().map(name).collect()
    }

    /// Verifies as a merchant would: over the received bytes, independently of the gateway's own
    /// code.
    pub fn verified(&self, received: &Received) -> Value {
        let secret = self.merchant.new.webhook_secret.reveal();
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(&received.body);
        assert_eq!(
            received.header("x-gateway-signature"),
            hex::encode(mac.finalize().into_bytes())
        );
        let event = received.json();
        let id = event["eventId"].as_str().unwrap();
        assert!(id.starts_with("pzwe_"), "{id}");
        assert_eq!(received.header("x-gateway-event-id"), id);
        assert_eq!(received.header("content-type"), "application/json");
        assert!(event["eventAt"].is_u64());
        let text = std::str::from_utf8(&received.body).unwrap();
        assert!(text.starts_with(r#"{"eventType":"mass_payout."#), "{text}");
        event
    }

    /// Number and sum of the payments to each address on the simulated chain: an oracle independent
    /// of our code.
    pub async fn received_on_chain(&self, network: &str) -> BTreeMap<String, (i64, String)> {
        let mut connection = self.stack.database.connect().await;
        let rows: Vec<(String, i64, String)> = sqlx::query_as(
            "select address, count(*), sum(amount)::text from sim_transfer where network = $1 group by address",
        )
        .bind(network)
        .fetch_all(&mut connection)
        .await
        .unwrap();
        connection.close().await.unwrap();
        rows.into_iter().map(|(address, count, sum)| (address, (count, sum))).collect()
    }
}

/// A fresh EVM address for each number.
pub fn evm_address(number: u32) -> String {
    format!("0x{:040x}", 0x00aa_0000_0000_u64 + u64::from(number))
}

/// A merchant that orders without the API. Its events are written, but have no receiver.
pub struct Orders {
    caller: Caller,
}

impl Orders {
    pub async fn open(gateway: &Gateway) -> Self {
        let merchant = gateway.create_merchant("Orders", told()).await.unwrap();
        Self { caller: gateway.admit_merchant(&merchant.api_key).await.unwrap() }
    }

    pub fn merchant_id(&self) -> Uuid {
        self.caller.merchant_id
    }

    /// Creates an order and confirms it; as it is then.
    pub async fn confirmed(&self, gateway: &Gateway, wanted: &NewOrder) -> Value {
        let created = gateway.create_payout(self.caller.merchant_id, wanted).await.unwrap();
        let object: Value = serde_json::from_str(&created.body).unwrap();
        let (id, said) = (object["id"].as_str().unwrap(), Confirmation::default());
        let confirmed = gateway.confirm_payout(self.caller.merchant_id, id, &said).await.unwrap();
        serde_json::from_str(&confirmed).unwrap()
    }
}

/// Settings of a merchant whose events are written: they have no receiver unless a test delivers
/// them.
pub fn told() -> Settings {
    let payout_webhook_url = Some("https://shop.example/payouts".to_owned());
    Settings { payout_webhook_url, ..Settings::default() }
}

/// An order whose sender pays the fees, and which asks for nothing else.
pub fn new_order(network: Network, currency: &str, rows: Vec<Row>) -> NewOrder {
    NewOrder {
        family: PayoutFamily::of(network).unwrap(),
        network: network.name().to_owned(),
        currency: currency.to_owned(),
        rows,
        fee_mode: FeeMode::Sender,
        refund_address: None,
        label: None,
        metadata: None,
        callback_url: None,
        idempotency: None,
        withdrawal: None,
    }
}

/// One recipient of `units` base units.
pub fn row(number: u32, address: String, units: u128) -> Row {
    Row {
        number,
        address,
        amount: Amount::Units(units.to_string()),
        reference: None,
        memo: None,
        network: None,
        currency: None,
    }
}

/// Sends all that an order asks for, confirmed at once.
pub async fn fund(gateway: &Gateway, order: &Value) -> Simulated {
    let due = order["totalToSendRaw"].as_str().unwrap().parse().unwrap();
    send_to(gateway, order, due, None).await
}

/// Sends `units` base units of the order's asset to its address.
async fn send_to(gateway: &Gateway, order: &Value, units: u128, txid: Option<String>) -> Simulated {
    let decimals = u32::try_from(order["decimals"].as_u64().unwrap()).unwrap();
    let network: Network = order["network"].as_str().unwrap().parse().unwrap();
    let address = order["depositAddress"].as_str().unwrap().to_owned();
    let currency = order["currency"].as_str().unwrap().to_owned();
    let deposit = Deposit {
        payee: Payee::Address { network, address },
        paid_in: PaidIn { currency: Some(currency), contract: None },
        amount: BaseUnits::new(units).to_decimal(decimals),
        txid,
        unconfirmed: false,
    };
    gateway.simulate_deposit(&deposit).await.unwrap()
}

/// Books the full amount of an order as a deposit that is long final. `contract` is the token's.
pub async fn fund_from_nowhere(
    connection: &mut PgConnection,
    order_id: &str,
    contract: Option<&str>,
) {
    let statement = "insert into deposit (id, network, deposit_key, tx_hash, address_id, payout_order_id, token_id, \
             contract, amount, amount_text, height, block_hash, mined_at, first_seen_at, state, min_confirmations) \
         select gen_random_uuid(), o.network, o.order_id, o.order_id, a.id, o.id, o.token_id, $2, o.total_to_send, \
             o.total_to_send::text, 1, 'x', now(), now(), 'final', 1 \
         from payout_order o join deposit_address a on a.payout_order_id = o.id where o.order_id = $1";
    let query = sqlx::query(statement).bind(order_id).bind(contract);
    assert_eq!(query.execute(connection).await.unwrap().rows_affected(), 1);
}
