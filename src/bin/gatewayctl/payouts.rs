//! `gatewayctl payouts …`

use clap::{ArgGroup, Args, Subcommand};
use gateway::{
    app::{
        Gateway,
        payout::{Outcome, Settling, Story},
    },
    asset::Network,
    chain::pay::Named,
    deposit::BookedAs,
    invoice::payment::iso_8601,
    nc_payout::State as NcState,
    payout::{State, hold},
    storage::payouts::PayoutOrder,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    delivery,
    failure::wrong_usage,
    nc_payouts, operator, payout_limits,
    payout_people::{Accept, RefundTo, Release},
    payout_seed, payout_words,
    render::{self, Answer, Cell, Tone},
    watch,
};

const LISTED_MAX: i64 = 1_000;

#[derive(Subcommand)]
pub enum Payouts {
    /// List orders, or payouts that merchants sign, those at work first
    #[command(after_help = payout_words::PAYOUTS_LIST)]
    List(List),
    /// Show an order or a payout as its merchant sees it, with internal details
    #[command(after_help = payout_words::PAYOUTS_SHOW)]
    Show(AnyId),
    /// Follow an order until it has ended
    #[command(after_help = payout_words::PAYOUTS_WATCH)]
    Watch(Id),
    /// Show the history of an order or a payout: deposits, payments, batches, webhooks
    #[command(after_help = payout_words::PAYOUTS_EXPLAIN)]
    Explain(AnyId),
    /// Sign nothing more for an order until it is released
    #[command(after_help = payout_words::PAYOUTS_HOLD)]
    Hold(Hold),
    /// Release a held order; above the configured limit two people must
    #[command(after_help = payout_words::PAYOUTS_RELEASE)]
    Release(Release),
    /// Set the refund address of an order, if its merchant never did
    #[command(after_help = payout_words::PAYOUTS_REFUND_TO)]
    RefundTo(RefundTo),
    /// Accept an order's recipients, amounts and addresses as its rows have them now
    #[command(after_help = payout_words::PAYOUTS_ACCEPT)]
    Accept(Accept),
    /// Offer a higher fee for pending payments (replace-by-fee or CPFP)
    #[command(after_help = payout_words::PAYOUTS_BUMP)]
    Bump(Id),
    /// Cancel an order for which nothing was signed; received funds are refunded
    #[command(after_help = payout_words::PAYOUTS_CANCEL)]
    Cancel(Id),
    /// Record the end of a payment that lost to a conflicting transaction (double-spend)
    #[command(after_help = payout_words::PAYOUTS_SETTLE)]
    Settle(Settle),
    /// Stop all signing, on one network or everywhere
    #[command(after_help = payout_words::PAYOUTS_STOP)]
    Stop(Stop),
    /// Sign again
    #[command(after_help = payout_words::PAYOUTS_RESUME)]
    Resume(Where),
    /// Show or set how much may be signed for one merchant
    #[command(after_help = payout_limits::HELP)]
    Limits(payout_limits::Limits),
    /// Seal a wallet's seed (64 bytes in hex, on stdin) for payouts.seed_file
    #[command(after_help = payout_words::PAYOUTS_SEAL)]
    SealSeed(payout_seed::Seal),
    /// Print the accounts of a seed (64 bytes in hex, on stdin) for payouts.accounts
    #[command(after_help = payout_words::PAYOUTS_ACCOUNTS)]
    Accounts(payout_seed::Wallet),
}

#[derive(Args)]
pub struct List {
    /// Only those of this merchant
    #[arg(long, value_name = "ID")]
    merchant: Option<Uuid>,
    /// Only those in this state, such as processing
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Payouts that merchants sign themselves, instead of orders
    #[arg(long)]
    nc: bool,
}

/// Parses a state out of `all`, if one is given.
fn state<T: Copy>(
    asked: Option<&str>,
    all: &[T],
    name: fn(T) -> &'static str,
) -> anyhow::Result<Option<T>> {
    let Some(asked) = asked else { return Ok(None) };
    let known = all.iter().copied().find(|state| name(*state) == asked);
    let names = || all.iter().map(|state| name(*state)).collect::<Vec<_>>().join(", ");
    known.map(Some).ok_or_else(|| wrong_usage(format!("states are {}", names())))
}

#[derive(Args)]
pub struct AnyId {
    /// An order's id, mpo_… or empo_…, or that of a payout that its merchant signs, ncp_…
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(Args)]
pub struct Id {
    /// The order's id, mpo_… or empo_…
    #[arg(value_name = "ORDER_ID")]
    order_id: String,
}

#[derive(Args)]
pub struct Hold {
    /// The order's id, mpo_… or empo_…
    #[arg(value_name = "ORDER_ID")]
    order_id: String,
    /// Reason, shown to the person releasing it
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

#[derive(Args)]
#[command(group(ArgGroup::new("outcome").required(true).args(["paid", "nobody_paid"])))]
pub struct Settle {
    /// The order's id, mpo_… or empo_…
    #[arg(value_name = "ORDER_ID")]
    order_id: String,
    /// The transaction that used the payment's nonce, or all outputs that it spends
    #[arg(value_name = "TXID")]
    txid: String,
    /// It paid the payment's recipients as intended
    #[arg(long)]
    paid: bool,
    /// It paid none of the payment's recipients: their rows fail, and their money goes back
    #[arg(long)]
    nobody_paid: bool,
    /// The block that holds it, on bitcoin, litecoin and dogecoin
    #[arg(long, value_name = "NUMBER")]
    height: Option<u64>,
    /// Your findings, for the audit log
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    person: operator::Person,
}

#[derive(Args)]
pub struct Stop {
    /// Only on this network
    #[arg(long, value_name = "NETWORK")]
    network: Option<Network>,
    /// Reason, shown to the operator that resumes
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

#[derive(Args)]
pub struct Where {
    /// Only on this network; without it, the stop of all networks ends
    #[arg(long, value_name = "NETWORK")]
    network: Option<Network>,
}

fn place(network: Option<Network>) -> &'static str {
    network.map_or("*", Network::name)
}

impl Payouts {
    pub async fn run(self, gateway: &Gateway, json: bool) -> anyhow::Result<Answer> {
        match self {
            Self::List(list) => list.run(gateway).await,
            Self::Show(AnyId { id }) if nc_payouts::names(&id) => {
                nc_payouts::show(gateway, &id).await
            }
            Self::Explain(AnyId { id }) if nc_payouts::names(&id) => {
                nc_payouts::explain(gateway, &id).await
            }
            Self::Show(AnyId { id }) => {
                let story = gateway.explain_payout(&id).await?;
                Ok(Answer::new(to_json(&story)?, summary(&story)))
            }
            Self::Watch(id) => {
                let story = watch::follow(gateway, &id.order_id, json).await?;
                let answer = Answer::new(to_json(&story)?, "");
                // A failure unless every recipient was paid.
                let is_paid = story.order.state == State::Completed;
                Ok(if is_paid { answer } else { answer.bad() })
            }
            Self::Explain(AnyId { id }) => {
                let story = gateway.explain_payout(&id).await?;
                let text = format!("{}\n{}", summary(&story), history(&story));
                Ok(Answer::new(explained(&story)?, text))
            }
            Self::Hold(hold) => {
                gateway.hold_order(&hold.order_id, &hold.reason).await?;
                let json = json!({ "order_id": hold.order_id, "held": hold.reason });
                let text = format!("{} is held: nothing more is signed for it.", hold.order_id);
                Ok(Answer::new(json, text))
            }
            Self::Release(release) => release.run(gateway).await,
            Self::RefundTo(refund) => refund.run(gateway).await,
            Self::Accept(accept) => accept.run(gateway).await,
            Self::Bump(Id { order_id }) => bump(gateway, &order_id).await,
            Self::Cancel(Id { order_id }) => {
                gateway.cancel_any_payout(&order_id).await?;
                let json = json!({ "order_id": order_id, "state": State::Cancelled.as_str() });
                Ok(Answer::new(
                    json,
                    format!("{order_id} is cancelled; its merchant gets a webhook."),
                ))
            }
            Self::Settle(settle) => settle.run(gateway).await,
            Self::Stop(stop) => {
                gateway.stop_payouts(place(stop.network), &stop.reason).await?;
                let json = json!({ "network": place(stop.network), "stopped": stop.reason });
                let text = format!(
                    "Nothing more is signed on {}. Payments that are signed already continue.\nEnd it: gatewayctl payouts resume{}",
                    spoken(stop.network),
                    flag(stop.network)
                );
                Ok(Answer::new(json, text))
            }
            Self::Resume(at) => at.resume(gateway).await,
            Self::Limits(limits) => limits.run(gateway).await,
            Self::SealSeed(seal) => seal.run(),
            Self::Accounts(wallet) => wallet.accounts(),
        }
    }
}

async fn bump(gateway: &Gateway, order_id: &str) -> anyhow::Result<Answer> {
    let count = gateway.bump_order(order_id).await?;
    let json = json!({ "order_id": order_id, "payments": count });
    let payments = if count == 1 { "1 payment" } else { &format!("{count} payments") };
    let text = if count == 0 {
        format!(
            "{order_id} has nothing more to offer: its payments offer what the network asks or what was quoted, or \
             nothing may be signed. They go out again as they are."
        )
    } else {
        format!("{order_id} offers a higher fee for {payments}, within its quote.")
    };
    Ok(Answer::new(json, text))
}

fn spoken(network: Option<Network>) -> &'static str {
    network.map_or("any network", Network::name)
}

fn flag(network: Option<Network>) -> String {
    network.map_or_else(String::new, |network| format!(" --network {network}"))
}

impl Where {
    async fn resume(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let resumed = gateway.resume_payouts(place(self.network)).await?;
        let still = gateway.payouts_stopped(place(self.network)).await?;
        let json = json!({ "network": place(self.network), "resumed": resumed, "stopped": still });
        let text = match (&still, resumed) {
            (Some(reason), _) => {
                format!(
                    "Signing is still stopped everywhere ({reason}). End that: gatewayctl payouts resume"
                )
            }
            (None, true) => format!("Signing continues on {}.", spoken(self.network)),
            (None, false) => format!("Signing was not stopped on {}.", spoken(self.network)),
        };
        Ok(Answer::new(json, text))
    }
}

impl List {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let asked = self.state.as_deref();
        if self.nc {
            let state = state(asked, &NcState::ALL, NcState::as_str)?;
            return nc_payouts::list(gateway, self.merchant, state, LISTED_MAX).await;
        }
        let state = state(asked, &State::ALL, State::as_str)?;
        let orders = gateway.list_all_payouts(self.merchant, state, LISTED_MAX).await?;
        let json: Value = orders.iter().map(listed).collect();
        if orders.is_empty() {
            return Ok(Answer::new(json, "There are no payout orders."));
        }
        let line = |order: &PayoutOrder| {
            let decimals = u32::from(order.currency.decimals);
            vec![
                Cell::from(&order.order_id),
                state_cell(order),
                order.currency.token_id().into(),
                order.item_count.to_string().into(),
                order.payout_total.to_decimal(decimals).into(),
                order.books.paid.to_decimal(decimals).into(),
                render::or_dash(order.held.as_ref().map(hold::Hold::reason)),
                iso_8601(order.created_at).into(),
            ]
        };
        let lines: Vec<_> = orders.iter().map(line).collect();
        let heading = ["order", "state", "currency", "rows", "total", "paid", "held", "created"];
        Ok(Answer::new(json, render::table(&heading, &lines)))
    }
}

impl Settle {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let by = self.person.name()?;
        let outcome = if self.paid { Outcome::Paid } else { Outcome::NobodyPaid };
        let named = Named { hash: self.txid, height: self.height };
        let settling = Settling { named, outcome, by, reason: self.reason };
        let settled = gateway.settle_payment(&self.order_id, &settling).await?;
        let (order_id, hash) = (&self.order_id, &settling.named.hash);
        let json = json!({
            "order_id": order_id, "tx_hash": hash, "height": settled.height, "purpose": settled.purpose.as_str(),
            "nonce": settled.nonce, "rows": settled.rows, "outcome": outcome.as_str(), "held": settled.held.as_ref().map(hold::Hold::reason),
        });
        let rows =
            if settled.rows == 1 { "1 row".to_owned() } else { format!("{} rows", settled.rows) };
        let what = match outcome {
            Outcome::Paid => format!("{rows} paid by {hash}"),
            Outcome::NobodyPaid => format!("{rows} failed, for {hash} paid nobody"),
        };
        let text = format!("{order_id}: payment {} is settled, {what}.", settled.nonce);
        let text = settled.held.map_or_else(
            || text.clone(),
            |held| {
                let release = format!("gatewayctl payouts release {order_id}");
                format!("{text}\nThe order is still held ({held}). Release it: {release}")
            },
        );
        Ok(Answer::new(json, text))
    }
}

fn state_cell(order: &PayoutOrder) -> Cell {
    let tone = match order.state {
        State::Completed => Tone::Good,
        State::PartialFailed | State::Expired | State::Cancelled => Tone::Bad,
        State::Funded | State::Processing => Tone::Doubtful,
        State::Draft | State::PendingDeposit => Tone::Plain,
    };
    Cell::toned(order.state.as_str(), tone)
}

fn listed(order: &PayoutOrder) -> Value {
    json!({
        "order_id": order.order_id,
        "merchant_id": order.merchant_id,
        "state": order.state.as_str(),
        "token_id": order.currency.token_id(),
        "item_count": order.item_count,
        "payout_total_raw": order.payout_total.get().to_string(),
        "paid_raw": order.books.paid.get().to_string(),
        "held": order.held.as_ref().map(hold::Hold::reason),
        "created_at": iso_8601(order.created_at),
    })
}

/// Reason why nothing was signed at the last attempt. A held order waits for people only.
fn waits_for(order: &PayoutOrder) -> Option<String> {
    if order.held.is_some() {
        return None;
    }
    let (is_left, place) = (!order.books.left().is_zero(), &order.refund_address);
    if order.state.is_terminal() && is_left && place.is_none() {
        let id = &order.order_id;
        let words = "its merchant named no refundAddress. Ask the merchant, then run: gatewayctl payouts refund-to";
        return Some(format!("{words} {id} ADDRESS"));
    }
    order.waits_for.clone()
}

fn summary(story: &Story) -> String {
    let order = &story.order;
    let decimals = u32::from(order.currency.decimals);
    let coins = |units: gateway::money::BaseUnits| {
        Cell::from(format!("{} {}", units.to_decimal(decimals), order.currency.symbol))
    };
    let books = &order.books;
    render::facts(&[
        ("order", Cell::from(&order.order_id)),
        ("state", state_cell(order)),
        ("held", render::or_dash(order.held.as_ref().map(hold::Hold::reason))),
        ("waits for", render::or_dash(waits_for(order).as_ref())),
        ("merchant", order.merchant_id.to_string().into()),
        ("rows", format!("{} in {} batches", order.item_count, order.batch_count).into()),
        ("to send", coins(order.total_to_send)),
        ("received", coins(books.credited)),
        ("came too late", coins(books.late)),
        ("paid", coins(books.paid)),
        ("failed", coins(books.failed)),
        ("signed, not final", coins(books.reserved)),
        ("fees", coins(books.kept)),
        ("sent back", coins(books.returned)),
        ("left", coins(books.left())),
        ("address", render::or_dash(order.deposit.as_ref().map(|place| &place.address))),
        ("refunds go to", render::or_dash(order.refund_address.as_ref())),
        ("expires", iso_8601(order.expires_at).into()),
        ("releases", story.releases.to_string().into()),
    ])
}

fn history(story: &Story) -> String {
    let deposits: Vec<_> = story
        .deposits
        .iter()
        .map(|deposit| {
            let booked = render::or_dash(deposit.booked_as.map(BookedAs::as_str));
            vec![
                Cell::from(&deposit.tx_hash),
                Cell::from(&deposit.amount_text),
                deposit.state.as_str().into(),
                booked,
            ]
        })
        .collect();
    let payments: Vec<_> = story
        .payments
        .iter()
        .map(|payment| {
            vec![
                Cell::from(payment.purpose.as_str()),
                payment.nonce.to_string().into(),
                Cell::from(payment.state.as_str()),
                payment.amount.get().to_string().into(),
                payment.versions.to_string().into(),
                Cell::from(&payment.tx_hash),
            ]
        })
        .collect();
    let batches: Vec<_> = story
        .batches
        .iter()
        .map(|batch| {
            vec![
                batch.index.to_string().into(),
                Cell::from(batch.state.as_str()),
                format!("{} rows, {} failed", batch.item_count, batch.failed_count).into(),
                render::or_dash(batch.last_error.as_ref()),
            ]
        })
        .collect();
    let events: Vec<_> = story
        .events
        .iter()
        .map(|event| {
            vec![
                Cell::from(&event.event_id),
                Cell::from(&event.kind),
                event.state.as_str().into(),
                delivery::host(&event.url).into(),
            ]
        })
        .collect();
    [
        (
            "Deposits",
            render::table(&["transaction", "base units", "state", "booked as"], &deposits),
        ),
        ("Batches", render::table(&["batch", "state", "rows", "error"], &batches)),
        (
            "Payments",
            render::table(
                &["for", "nonce", "state", "base units", "versions", "transaction"],
                &payments,
            ),
        ),
        ("Webhooks", render::table(&["event", "what", "state", "receiver"], &events)),
    ]
    .map(|(title, table)| format!("{title}\n{table}"))
    .join("\n")
}

/// The merchant's object, plus the facts that only we know.
pub fn to_json(story: &Story) -> serde_json::Result<Value> {
    let mut json: Value = serde_json::from_str(&story.object)?;
    json["merchantId"] = story.order.merchant_id.to_string().into();
    json["holdReason"] = story.order.held.as_ref().map(hold::Hold::reason).into();
    json["waitsFor"] = waits_for(&story.order).into();
    json["releases"] = story.releases.into();
    Ok(json)
}

fn explained(story: &Story) -> serde_json::Result<Value> {
    let mut json = to_json(story)?;
    json["deposits"] = story
        .deposits
        .iter()
        .map(|deposit| json!({ "txHash": deposit.tx_hash, "amountRaw": deposit.amount_text, "state": deposit.state, "bookedAs": deposit.booked_as }))
        .collect();
    json["payments"] = story
        .payments
        .iter()
        .map(|payment| {
            json!({
                "purpose": payment.purpose.as_str(),
                "nonce": payment.nonce,
                "state": payment.state.as_str(),
                "amountRaw": payment.amount.get().to_string(),
                "versions": payment.versions,
                "txHash": payment.tx_hash,
                "createdAt": iso_8601(payment.created_at),
                "sentAt": payment.sent_at.map(iso_8601),
                "endedAt": payment.ended_at.map(iso_8601),
            })
        })
        .collect();
    json["events"] = story
        .events
        .iter()
        .map(|event| json!({ "eventId": event.event_id, "eventType": event.kind, "state": event.state }))
        .collect();
    Ok(json)
}
