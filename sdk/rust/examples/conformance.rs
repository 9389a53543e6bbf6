//! Calls the SDK as sdk/conformance.py asks: one JSON object a line in, one out.

use std::{
    collections::{HashMap, HashSet},
    error::Error as StdError,
    io::{BufRead, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::Router;
use gateway_sdk::{
    Each, Error, EventQuery, Gateway, Kind, MassPayouts, NcPayouts, Options, Payable, Paying, PaymentQuery, Payments, PayoutQuery,
    Refused, Transactions,
    contract::{ConfirmPayout, NewNcPayout, NewPayout, Notice, Payment, PayoutWebhook, Renewal},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json, value::RawValue};

type Failure = Box<dyn StdError>;
type Answer = Result<Box<RawValue>, Failure>;

/// Record of the receivers: their acts, and the keys that they remember.
#[derive(Default)]
struct Shop {
    seen: Mutex<HashSet<String>>,
    acts: Mutex<HashMap<&'static str, Vec<String>>>,
    failing: Mutex<bool>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shop {
    fn note(&self, kind: &'static str, text: String) {
        locked(&self.acts).entry(kind).or_default().push(text);
    }
}

/// Keys of this transaction, stored when it commits.
#[derive(Default)]
struct Open(Vec<String>);

impl Transactions for Shop {
    type Transaction = Open;
    type Error = &'static str;

    async fn begin(&self) -> Result<Open, &'static str> {
        Ok(Open::default())
    }

    async fn remember(&self, transaction: &mut Open, key: &str) -> Result<bool, &'static str> {
        transaction.0.push(key.to_owned());
        Ok(!locked(&self.seen).contains(key))
    }

    async fn commit(&self, transaction: Open) -> Result<(), &'static str> {
        locked(&self.seen).extend(transaction.0);
        Ok(())
    }
}

impl Payable for Shop {
    async fn on_payment(&self, _: &mut Open, payment: Payment) -> Result<(), &'static str> {
        if std::mem::take(&mut *locked(&self.failing)) {
            return Err("as the scenario asked");
        }
        self.note("payments", format!("{} {} {}", payment.payment_id, payment.payment_status, payment.actually_paid));
        Ok(())
    }

    async fn on_notice(&self, _: &mut Open, notice: Notice, _: Payment) -> Result<(), &'static str> {
        self.note("notices", format!("{} {}", notice.kind, notice.amount));
        Ok(())
    }

    async fn on_renewal(&self, _: &mut Open, renewal: Renewal, payment: Payment) -> Result<(), &'static str> {
        self.note("renewals", format!("{} {} {}", renewal.day_offset, renewal.renewal_url, payment.payment_status));
        Ok(())
    }
}

impl Paying for Shop {
    async fn on_event(&self, _: &mut Open, event: PayoutWebhook) -> Result<(), &'static str> {
        self.note("events", format!("{} {} {}", event.event_type, event.order.id, event.order.state));
        Ok(())
    }
}

#[derive(Default)]
struct Driver {
    clients: HashMap<String, Gateway>,
    shop: Arc<Shop>,
}

/// The arguments of one call.
struct Asked(Value);

impl Asked {
    fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default()
    }

    fn optional(&self, name: &str) -> Option<&str> {
        self.0[name].as_str()
    }

    fn seconds(&self, name: &str, usual: f64) -> Duration {
        Duration::from_secs_f64(self.0[name].as_f64().unwrap_or(usual))
    }

    /// A wrong amount fails here, before there is anything to send.
    fn body<T: DeserializeOwned>(&self, name: &str) -> Result<T, Failure> {
        serde_json::from_str(&self.0[name].to_string()).map_err(|error| Error::Argument(error.to_string()).into())
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.0["query"][name].as_u64().and_then(|number| number.try_into().ok())
    }

    fn word(&self, name: &str) -> Option<String> {
        self.0["query"][name].as_str().map(str::to_owned)
    }

    fn query(&self) -> PayoutQuery {
        PayoutQuery { limit: self.number("limit"), page: self.number("page"), state: self.word("state") }
    }
}

fn told(value: impl Serialize) -> Answer {
    Ok(serde_json::value::to_raw_value(&value)?)
}

async fn collected<T: DeserializeOwned>(mut each: Each<T>, id: fn(&T) -> &str) -> Answer {
    let mut found = Vec::new();
    while let Some(item) = each.next().await? {
        found.push(id(&item).to_owned());
    }
    told(found)
}

impl Driver {
    async fn call(&mut self, asked: &Asked) -> Answer {
        let (group, name) = asked.text("op").split_once('.').unwrap_or((asked.text("op"), ""));
        match group {
            "open" => return self.open(asked),
            "listen" => return self.listen(asked).await,
            "acts" => {
                let acts = locked(&self.shop.acts);
                let of = |kind| acts.get(kind).cloned().unwrap_or_default();
                return told(json!({
                    "payments": of("payments"), "notices": of("notices"), "renewals": of("renewals"),
                    "events": of("events"),
                }));
            }
            "failNext" => {
                *locked(&self.shop.failing) = true;
                return told(true);
            }
            "verifyPaymentIpn" | "verifyPayoutWebhook" => return verify(group, asked),
            _ => {}
        }
        let client = self.clients.get(asked.text("client")).ok_or("no such client")?;
        match group {
            "status" => told(client.status().await?),
            "currencies" => told(client.currencies().await?),
            "estimate" => {
                let query = |name| asked.word(name).unwrap_or_default();
                let (from, to) = (query("currency_from"), query("currency_to"));
                told(client.estimate(&query("amount").parse()?, &from, &to, None).await?)
            }
            "minAmount" => told(client.min_amount(&asked.word("currency_to").unwrap_or_default(), None).await?),
            "events" => {
                let query =
                    EventQuery { after: asked.word("after"), kind: asked.word("type"), limit: asked.number("limit") };
                let (mut events, mut found) = (client.events(query), Vec::new());
                while let Some(event) = events.next().await? {
                    found.push(event);
                }
                told(found)
            }
            "event" => told(client.event(asked.text("id")).await?),
            "resendEvent" => told(client.resend_event(asked.text("id")).await?),
            "resendEvents" => told(client.resend_events(&asked.body("body")?).await?),
            "testWebhook" => told(client.test_webhook(&asked.body("body")?).await?),
            "balance" => told(client.balance(asked.word("fiat").as_deref()).await?),
            "sandboxDeposit" => told(client.sandbox_deposit(&asked.body("body")?).await?),
            "sandboxExpire" => told(client.sandbox_expire(asked.text("id")).await?),
            "payments" => payments(client.payments(), name, asked).await,
            "massPayouts" => payouts(client.mass_payouts(), name, asked).await,
            "evmMassPayouts" => payouts(client.evm_mass_payouts(), name, asked).await,
            "ncPayouts" => nc_payouts(client.nc_payouts(), name, asked).await,
            _ => Err("no such call".into()),
        }
    }

    fn open(&mut self, asked: &Asked) -> Answer {
        let (timeout, retry_for) = (asked.seconds("timeout", 30.0), asked.seconds("retryFor", 60.0));
        let options = Options { timeout, retry_for, ..Options::default() };
        let client = Gateway::new(asked.text("baseUrl"), asked.optional("apiKey"), options)?;
        if format!("{client:?}").contains(asked.text("apiKey")) {
            return Err("the key is printed".into());
        }
        self.clients.insert(asked.text("name").to_owned(), client);
        told(true)
    }

    async fn listen(&self, asked: &Asked) -> Answer {
        let secrets = vec!["the one before".to_owned(), asked.text("paymentSecret").to_owned()];
        let payout_secrets = vec![asked.text("payoutSecret").to_owned()];
        let router = Router::new()
            .route("/ipn", gateway_sdk::axum::payment_ipn(self.shop.clone(), secrets))
            .route("/payouts", gateway_sdk::axum::payout_webhook(self.shop.clone(), payout_secrets));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let base = format!("http://{}", listener.local_addr()?);
        tokio::spawn(async move { axum::serve(listener, router).await });
        told(json!({ "payments": format!("{base}/ipn"), "payouts": format!("{base}/payouts") }))
    }
}

fn verify(group: &str, asked: &Asked) -> Answer {
    let (body, signature, secrets) = (asked.text("body").as_bytes(), asked.text("signature"), [asked.text("secret")]);
    let now: SystemTime = UNIX_EPOCH + Duration::from_secs(asked.0["now"].as_u64().unwrap_or_default());
    #[derive(Serialize)]
    struct Told<'a, T> {
        kind: &'a str,
        key: &'a str,
        event: &'a T,
        notice: Option<&'a Notice>,
        renewal: Option<&'a Renewal>,
    }
    if group == "verifyPayoutWebhook" {
        let event = gateway_sdk::verify_payout_webhook(body, signature, &secrets, now)?;
        return told(Told { kind: "payout", key: &event.event_id, event: &event, notice: None, renewal: None });
    }
    let event = gateway_sdk::verify_payment_ipn(body, signature, &secrets, now)?;
    let (notice, renewal) = (event.notice.as_ref(), event.renewal.as_ref());
    let kind = match (notice, renewal) {
        (Some(_), _) => "notice",
        (None, Some(_)) => "renewal",
        (None, None) => "payment",
    };
    told(Told { kind, key: &event.key, event: &event.payment, notice, renewal })
}

async fn payments(of: Payments<'_>, name: &str, asked: &Asked) -> Answer {
    let id = asked.text("id");
    match name {
        "create" => told(of.create(&asked.body("body")?, asked.optional("idempotencyKey")).await?),
        "get" => told(of.get(id).await?),
        "list" => {
            let (limit, page) = (asked.number("limit"), asked.number("page"));
            let query = PaymentQuery { limit, page, sort_by: asked.word("sortBy"), order_by: asked.word("orderBy") };
            told(of.list(query).await?)
        }
        "each" => collected(of.each(asked.number("limit").unwrap_or(100)), |payment| &payment.payment_id).await,
        "deposits" => told(of.deposits(id, asked.number("limit")).await?),
        "buyerStatus" => told(of.buyer_status(id).await?),
        "wait" => told(of.wait(id, asked.seconds("timeout", 60.0), asked.seconds("interval", 3.0)).await?),
        _ => Err("no such call".into()),
    }
}

async fn payouts(of: MassPayouts<'_>, name: &str, asked: &Asked) -> Answer {
    let (id, key) = (asked.text("id"), asked.optional("idempotencyKey"));
    match name {
        "create" => told(of.create(&asked.body::<NewPayout>("body")?, key).await?),
        "createCsv" => told(of.create_csv(&asked.body("order")?, asked.text("csv"), key).await?),
        "get" => told(of.get(id).await?),
        "list" => told(of.list(asked.query()).await?),
        "each" => collected(of.each(asked.query()), |order| &order.id).await,
        "items" => told(of.items(id, asked.query()).await?),
        "eachItem" => collected(of.each_item(id, asked.query()), |item| &item.id).await,
        "batches" => told(of.batches(id).await?),
        "confirm" => told(of.confirm(id, &asked.body::<ConfirmPayout>("body")?).await?),
        "refreshQuote" => told(of.refresh_quote(id).await?),
        "cancel" => told(of.cancel(id).await?),
        "reportCsv" => told(of.report_csv(id).await?),
        "templateCsv" => told(of.template_csv().await?),
        _ => Err("no such call".into()),
    }
}

async fn nc_payouts(of: NcPayouts<'_>, name: &str, asked: &Asked) -> Answer {
    let id = asked.text("id");
    match name {
        "create" => told(of.create(&asked.body::<NewNcPayout>("body")?, asked.optional("idempotencyKey")).await?),
        "get" => told(of.get(id).await?),
        "list" => told(of.list(asked.query()).await?),
        "each" => collected(of.each(asked.query()), |payout| &payout.id).await,
        "submit" => told(of.submit(id, asked.body("signed")?).await?),
        "refresh" => told(of.refresh(id, asked.optional("feeLevel")).await?),
        "cancel" => told(of.cancel(id).await?),
        _ => Err("no such call".into()),
    }
}

fn failure(error: &Failure) -> Value {
    let message = error.to_string();
    if let Some(refused) = error.downcast_ref::<Refused>() {
        let reason = if *refused == Refused::Forged { "forged" } else { "stale" };
        return json!({ "type": "Webhook", "reason": reason, "message": message });
    }
    match error.downcast_ref::<Error>() {
        Some(Error::Api(refused)) => {
            let kind = match refused.kind() {
                Kind::InvalidRequest => "InvalidRequest",
                Kind::Authentication => "Authentication",
                Kind::Permission => "Permission",
                Kind::NotFound => "NotFound",
                Kind::Conflict => "Conflict",
                Kind::RateLimit => "RateLimit",
                Kind::Quota => "Quota",
                _ => "Server",
            };
            json!({
                "type": kind, "code": refused.code, "status": refused.status, "details": refused.details,
                "retryAfter": refused.retry_after.map(|after| after.as_secs()), "message": message,
            })
        }
        Some(Error::Connection { idempotency_key, .. }) => {
            json!({ "type": "Connection", "idempotencyKey": idempotency_key, "message": message })
        }
        Some(Error::Argument(_)) => json!({ "type": "Argument", "message": message }),
        _ => json!({ "type": message }),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Ok(Box<RawValue>),
    Error(Value),
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut driver = Driver::default();
    for line in std::io::stdin().lock().lines() {
        let asked = Asked(serde_json::from_str(&line?)?);
        let answer = match driver.call(&asked).await {
            Ok(answer) => Line::Ok(answer),
            Err(error) => Line::Error(failure(&error)),
        };
        let mut out = std::io::stdout().lock();
        serde_json::to_writer(&mut out, &answer)?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}
