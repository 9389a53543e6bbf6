//! The API, version 1.

use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::{
    contract::*,
    error::{Error, Kind},
    lists::{Each, Events},
    transport::{Options, PATIENT, Request, Transport},
    x402::X402,
};

/// A client. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Gateway {
    transport: Transport,
}

impl Gateway {
    /// `base_url` is the gateway's address without `/v1`. Currencies, estimates, minimums and the
    /// buyer's status need no key.
    pub fn new(base_url: &str, api_key: Option<&str>, options: Options) -> Result<Self, Error> {
        Ok(Self { transport: Transport::new(base_url, api_key, options)? })
    }

    pub fn payments(&self) -> Payments<'_> {
        Payments(&self.transport)
    }

    /// On bitcoin, litecoin and dogecoin.
    pub fn mass_payouts(&self) -> MassPayouts<'_> {
        MassPayouts(&self.transport, "mass-payout")
    }

    /// On the EVM networks.
    pub fn evm_mass_payouts(&self) -> MassPayouts<'_> {
        MassPayouts(&self.transport, "evm-mass-payout")
    }

    /// Those that you sign yourself.
    pub fn nc_payouts(&self) -> NcPayouts<'_> {
        NcPayouts(&self.transport)
    }

    /// Payments of programs over HTTP. Keep it: it remembers the terms of your resources.
    pub fn x402(&self) -> X402 {
        X402::new(self.transport.clone())
    }

    /// `OK` while the gateway is alive.
    pub async fn status(&self) -> Result<Alive, Error> {
        self.transport.read(Request::get(&["status"])).await
    }

    /// The currencies on offer.
    pub async fn currencies(&self) -> Result<Currencies, Error> {
        self.transport.read(Request::get(&["currencies"])).await
    }

    /// A price in a currency, now; not binding.
    pub async fn estimate(
        &self,
        amount: &Amount,
        from: &str,
        to: &str,
        network: Option<&str>,
    ) -> Result<Estimate, Error> {
        let request = Request::get(&["estimate"]).query("amount", Some(amount)).query("currency_from", Some(from));
        self.transport.read(request.query("currency_to", Some(to)).query("network", network)).await
    }

    /// The smallest payment in a currency.
    pub async fn min_amount(&self, to: &str, network: Option<&str>) -> Result<MinAmount, Error> {
        self.transport
            .read(Request::get(&["min-amount"]).query("currency_to", Some(to)).query("network", network))
            .await
    }

    /// Everything that happened behind the event `query.after`, oldest first, also what has no
    /// webhook; it ends where there is no more now. Act once per `event_id`, and keep the last one:
    /// it is the next `after`.
    pub fn events(&self, query: EventQuery) -> Events {
        let request = Request::get(&["events"]).query("type", query.kind);
        Events::new(&self.transport, request.query("limit", Some(query.limit.unwrap_or(100))), query.after)
    }

    /// One event, with every attempt to deliver its webhook.
    pub async fn event(&self, id: &str) -> Result<Event, Error> {
        self.transport.read(Request::get(&["events", id])).await
    }

    /// Sends an event's webhook again, under the same `event_id`. While attempts are under way it
    /// changes nothing.
    pub async fn resend_event(&self, id: &str) -> Result<Event, Error> {
        self.transport.read(Request::post(&["events", id, "resend"])).await
    }

    /// Sends the webhooks of many events again: all that failed, if nothing narrows it. Returns the
    /// `event_id`s of those that were started, and waits out the rate limit.
    pub async fn resend_events(&self, which: &NewEventsResend) -> Result<Vec<String>, Error> {
        let (mut which, mut started) = (which.clone(), Vec::new());
        loop {
            let mut request = Request::post(&["events", "resend"]).json(&which)?;
            request.max_wait = Some(PATIENT);
            let page: EventsResent = self.transport.read(request).await?;
            started.extend(page.event_ids);
            if !page.has_more {
                return Ok(started);
            }
            which.after = page.next.or(which.after);
        }
    }

    /// Sends a signed sample to a receiver now, and returns its answer. The sample says that it is
    /// a test. Without a URL it goes where such webhooks go.
    pub async fn test_webhook(&self, test: &WebhookTest) -> Result<WebhookTestResult, Error> {
        self.transport.read(Request::post(&["webhooks", "test"]).json(test)?).await
    }

    /// What the ledger says you have, per currency and network. `fiat` is the currency of the
    /// estimates.
    pub async fn balance(&self, fiat: Option<&str>) -> Result<Balance, Error> {
        self.transport.read(Request::get(&["balance"]).query("fiat", fiat)).await
    }

    /// Sandbox only: pays an invoice, or an address of yours, on the simulated chain; once, by a
    /// random `txid` if none is named.
    pub async fn sandbox_deposit(&self, deposit: &NewSandboxDeposit) -> Result<SandboxDeposit, Error> {
        let mut deposit = deposit.clone();
        deposit.txid.get_or_insert_with(|| uuid::Uuid::new_v4().simple().to_string());
        self.transport.read(Request::post(&["sandbox", "deposit"]).json(&deposit)?).await
    }

    /// Sandbox only: ends the time to pay an invoice.
    pub async fn sandbox_expire(&self, payment_id: &str) -> Result<Payment, Error> {
        let body = SandboxExpiry { payment_id: payment_id.to_owned() };
        self.transport.read(Request::post(&["sandbox", "expire"]).json(&body)?).await
    }
}

/// A part of the feed of events to read.
#[derive(Debug, Clone, Default)]
pub struct EventQuery {
    /// An event's id: the feed begins behind it.
    pub after: Option<String>,
    /// Type of the events; all if none.
    pub kind: Option<String>,
    /// Size of a page: 100.
    pub limit: Option<u32>,
}

/// A page of payments to read; the API's defaults where it says nothing.
#[derive(Debug, Clone, Default)]
pub struct PaymentQuery {
    pub limit: Option<u32>,
    pub page: Option<u32>,
    /// `created_at` or `updated_at`.
    pub sort_by: Option<String>,
    /// `desc` or `asc`.
    pub order_by: Option<String>,
}

/// A page of payouts or of their items to read.
#[derive(Debug, Clone, Default)]
pub struct PayoutQuery {
    pub limit: Option<u32>,
    pub page: Option<u32>,
    pub state: Option<String>,
}

impl PayoutQuery {
    fn of(self, request: Request) -> Request {
        request.query("limit", self.limit).query("page", self.page).query("state", self.state)
    }
}

pub struct Payments<'a>(&'a Transport);

impl Payments<'_> {
    /// Creates an invoice, once per idempotency key: a random one if none is named.
    pub async fn create(&self, payment: &NewPayment, idempotency_key: Option<&str>) -> Result<Payment, Error> {
        self.0.read(Request::post(&["payment"]).json(payment)?.once(idempotency_key)).await
    }

    /// Reads an invoice by its `payment_id`, or by your own `order_id`.
    pub async fn get(&self, id: &str) -> Result<Payment, Error> {
        self.0.read(Request::get(&["payment", id])).await
    }

    pub async fn list(&self, query: PaymentQuery) -> Result<Page<Payment>, Error> {
        let request = Request::get(&["payment"]).query("limit", query.limit).query("page", query.page);
        self.0.read(request.query("sortBy", query.sort_by).query("orderBy", query.order_by)).await
    }

    /// All invoices, oldest first, so that new ones come last. `limit` is the size of a page.
    pub fn each(&self, limit: u32) -> Each<Payment> {
        let request = Request::get(&["payment"]).query("limit", Some(limit)).query("orderBy", Some("asc"));
        Each::new(self.0, request, |payment| &payment.payment_id)
    }

    /// What reached the address of an invoice, also unconfirmed or in another currency.
    pub async fn deposits(&self, id: &str, limit: Option<u32>) -> Result<PaymentDeposits, Error> {
        self.0.read(Request::get(&["payment", id, "deposits"]).query("limit", limit)).await
    }

    /// The buyer's view. The id is the credential.
    pub async fn buyer_status(&self, id: &str) -> Result<BuyerStatus, Error> {
        self.0.read(Request::get(&["invoices", id, "status"])).await
    }

    /// Looks until the invoice is `finished`, `expired` or `failed`, or the time is up, and returns
    /// it as it is then. A webhook tells you sooner and at no cost: this is for scripts.
    pub async fn wait(&self, id: &str, timeout: Duration, interval: Duration) -> Result<Payment, Error> {
        let until = Instant::now() + timeout;
        loop {
            let mut request = Request::get(&["payment", id]);
            request.max_wait = Some(PATIENT);
            let payment: Payment = self.0.read(request).await?;
            let is_over = ["finished", "expired", "failed"].contains(&payment.payment_status.as_str());
            if is_over || Instant::now() + interval > until {
                return Ok(payment);
            }
            tokio::time::sleep(interval).await;
        }
    }
}

/// The envelope of payouts.
#[derive(Deserialize)]
struct Data<T> {
    data: T,
}

/// Both families of mass payouts: the operations are the same.
pub struct MassPayouts<'a>(&'a Transport, &'static str);

impl MassPayouts<'_> {
    /// Creates a draft with its quote. Its idempotency key is kept for ever.
    pub async fn create(&self, order: &NewPayout, idempotency_key: Option<&str>) -> Result<PayoutOrder, Error> {
        self.order(Request::post(&[self.1]).json(order)?.once(idempotency_key)).await
    }

    /// The same from a file with a heading: `address`, `amount`, and if wanted `reference`, `memo`.
    /// `items` and `metadata` of the order are not sent.
    pub async fn create_csv(
        &self,
        order: &NewPayout,
        csv: &str,
        idempotency_key: Option<&str>,
    ) -> Result<PayoutOrder, Error> {
        let mut request = Request::post(&[self.1])
            .query("network", Some(&order.network))
            .query("currency", Some(&order.currency))
            .query("feeMode", order.fee_mode.as_ref())
            .query("refundAddress", order.refund_address.as_ref())
            .query("label", order.label.as_ref())
            .query("callbackUrl", order.callback_url.as_ref())
            .once(idempotency_key);
        request.body = Some(("text/csv", csv.to_owned()));
        self.order(request).await
    }

    pub async fn get(&self, id: &str) -> Result<PayoutOrder, Error> {
        self.order(Request::get(&[self.1, id])).await
    }

    /// Newest first.
    pub async fn list(&self, query: PayoutQuery) -> Result<Page<PayoutOrder>, Error> {
        self.0.read(query.of(Request::get(&[self.1]))).await
    }

    /// All orders, newest first. `limit` is the size of a page; `page` of the query is not read.
    pub fn each(&self, query: PayoutQuery) -> Each<PayoutOrder> {
        let query = PayoutQuery { page: None, ..query };
        Each::new(self.0, query.of(Request::get(&[self.1])), |order| &order.id)
    }

    pub async fn items(&self, id: &str, query: PayoutQuery) -> Result<Page<PayoutItem>, Error> {
        self.0.read(query.of(Request::get(&[self.1, id, "items"]))).await
    }

    /// All recipients of an order, in the order of its rows.
    pub fn each_item(&self, id: &str, query: PayoutQuery) -> Each<PayoutItem> {
        let query = PayoutQuery { page: None, ..query };
        Each::new(self.0, query.of(Request::get(&[self.1, id, "items"])), |item| &item.id)
    }

    pub async fn batches(&self, id: &str) -> Result<Vec<PayoutBatch>, Error> {
        let found: Data<_> = self.0.read(Request::get(&[self.1, id, "batches"])).await?;
        Ok(found.data)
    }

    /// Gives the order its deposit address. Name the quote that you were shown, and no other is
    /// taken.
    pub async fn confirm(&self, id: &str, quote: &ConfirmPayout) -> Result<PayoutOrder, Error> {
        self.order(Request::post(&[self.1, id, "confirm"]).json(quote)?).await
    }

    pub async fn refresh_quote(&self, id: &str) -> Result<PayoutOrder, Error> {
        self.order(Request::post(&[self.1, id, "refresh-quote"])).await
    }

    /// Cancels it; what came in goes back to `refund_address`. Repeating it changes nothing.
    pub async fn cancel(&self, id: &str) -> Result<PayoutOrder, Error> {
        let refused = match self.order(Request::post(&[self.1, id, "cancel"])).await {
            Err(Error::Api(refused)) if refused.kind() == Kind::Conflict => refused,
            answer => return answer,
        };
        // An earlier attempt, whose answer was lost, has cancelled it.
        let standing =
            refused.details.as_ref().and_then(|text| serde_json::from_str::<PayoutStanding>(text.get()).ok());
        match standing {
            Some(standing) if standing.state == "cancelled" => self.get(id).await,
            _ => Err(refused.into()),
        }
    }

    /// One line per recipient.
    pub async fn report_csv(&self, id: &str) -> Result<String, Error> {
        self.0.text(Request::get(&[self.1, id, "report.csv"])).await
    }

    pub async fn template_csv(&self) -> Result<String, Error> {
        self.0.text(Request::get(&[self.1, "template.csv"])).await
    }

    async fn order(&self, request: Request) -> Result<PayoutOrder, Error> {
        let found: Data<_> = self.0.read(request).await?;
        Ok(found.data)
    }
}

const NC: &str = "nc-payout";

/// Payouts that the merchant signs.
pub struct NcPayouts<'a>(&'a Transport);

impl NcPayouts<'_> {
    /// Builds what is to be signed. Its idempotency key is kept for ever.
    pub async fn create(&self, payout: &NewNcPayout, idempotency_key: Option<&str>) -> Result<NcPayout, Error> {
        self.payout(Request::post(&[NC]).json(payout)?.once(idempotency_key)).await
    }

    pub async fn get(&self, id: &str) -> Result<NcPayout, Error> {
        self.payout(Request::get(&[NC, id])).await
    }

    /// Newest first.
    pub async fn list(&self, query: PayoutQuery) -> Result<Page<NcPayout>, Error> {
        self.0.read(query.of(Request::get(&[NC]))).await
    }

    /// All payouts, newest first.
    pub fn each(&self, query: PayoutQuery) -> Each<NcPayout> {
        let query = PayoutQuery { page: None, ..query };
        Each::new(self.0, query.of(Request::get(&[NC])), |payout| &payout.id)
    }

    /// Hands in all signed transactions; they are sent until a block holds them.
    pub async fn submit(&self, id: &str, signed: Vec<String>) -> Result<NcPayout, Error> {
        self.payout(Request::post(&[NC, id, "submit"]).json(&NcSubmission { signed })?).await
    }

    /// Builds it again, with the fees of now and the same nonces or inputs. No level is the one
    /// before.
    pub async fn refresh(&self, id: &str, fee_level: Option<&str>) -> Result<NcPayout, Error> {
        let body = NcRefresh { fee_level: fee_level.map(str::to_owned) };
        self.payout(Request::post(&[NC, id, "refresh"]).json(&body)?).await
    }

    /// Gives it up; only until it was submitted.
    pub async fn cancel(&self, id: &str) -> Result<NcPayout, Error> {
        self.payout(Request::post(&[NC, id, "cancel"])).await
    }

    async fn payout(&self, request: Request) -> Result<NcPayout, Error> {
        let found: Data<_> = self.0.read(request).await?;
        Ok(found.data)
    }
}
