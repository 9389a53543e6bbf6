//! `gatewayctl deposit …`

use clap::{Args, Subcommand, ValueEnum};
use gateway::{
    app::{
        Gateway,
        deposit::explain::{AddressStory, Place, Standing, Told, TransactionStory, Verdict},
    },
    asset::{Network, catalogue::Catalogue},
    deposit::BookedAs,
    invoice::payment::iso_8601,
    money::BaseUnits,
    storage::deposit_search::{FoundDeposit, KnownAddress},
};
use serde_json::{Value, json};

use crate::{
    failure::wrong_usage,
    network,
    operator::Operator,
    render::{self, Answer, Cell, Tone},
    words,
};

const LISTED_MAX: i64 = 1_000;

#[derive(Subcommand)]
pub enum Command {
    /// Say of each transfer of a transaction whether it was counted, and why not
    #[command(after_help = words::DEPOSIT_EXPLAIN)]
    Explain(Explain),
    /// Record a deposit that the watcher missed
    #[command(after_help = words::DEPOSIT_IMPORT)]
    Import(Import),
    /// Credit a deposit that came back, or changed, after a reorganisation had taken it out of the
    /// books
    #[command(after_help = words::DEPOSIT_ACCEPT)]
    Accept(Accept),
    /// List deposits by kind of booking
    #[command(after_help = words::DEPOSIT_LIST)]
    List(List),
}

#[derive(Args)]
pub struct Explain {
    /// The transaction's id
    #[arg(value_name = "TXID", required_unless_present = "address", requires = "network")]
    txid: Option<String>,
    /// Which network it is on
    #[arg(long, value_name = "NET", hide_possible_values = true, value_parser = network::parser())]
    network: Option<Network>,
    /// The block that holds it, as explorers show it: needed on near, or if a node cannot find it
    #[arg(long, value_name = "N", conflicts_with = "address")]
    height: Option<u64>,
    /// Instead of a transaction: an address of an invoice or a payout order
    #[arg(long, value_name = "A", conflicts_with = "txid")]
    address: Option<String>,
}

#[derive(Args)]
pub struct Import {
    /// The transaction's id
    #[arg(value_name = "TXID")]
    txid: String,
    /// Which network it is on
    #[arg(long, value_name = "NET", hide_possible_values = true, value_parser = network::parser())]
    network: Network,
    /// The block that holds it, as explorers show it: needed on near, or if a node cannot find it
    #[arg(long, value_name = "N")]
    height: Option<u64>,
    /// Write it; without, only print the effect
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    by: Operator,
}

#[derive(Args)]
pub struct Accept {
    /// The transaction's id
    #[arg(value_name = "TXID")]
    txid: String,
    /// Which network it is on
    #[arg(long, value_name = "NET", hide_possible_values = true, value_parser = network::parser())]
    network: Network,
    /// The block that holds it, as explorers show it: needed on near, or if a node cannot find it
    #[arg(long, value_name = "N")]
    height: Option<u64>,
    /// Why it is to count; needed with --yes
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Credit it; without, only print the effect
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    by: Operator,
}

#[derive(Args)]
pub struct List {
    /// Kind of booking
    #[arg(long, value_name = "WHAT", value_enum, default_value = "foreign")]
    booked: Booked,
    /// Only on this network
    #[arg(long, value_name = "NET", hide_possible_values = true, value_parser = network::parser())]
    network: Option<Network>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Booked {
    Credit,
    Late,
    Foreign,
    Suspicious,
}

impl From<Booked> for BookedAs {
    fn from(booked: Booked) -> Self {
        match booked {
            Booked::Credit => Self::Credit,
            Booked::Late => Self::Late,
            Booked::Foreign => Self::Foreign,
            Booked::Suspicious => Self::Suspicious,
        }
    }
}

impl Command {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        match self {
            Self::Explain(explain) => explain.run(gateway).await,
            Self::Import(import) => import.run(gateway).await,
            Self::Accept(accept) => accept.run(gateway).await,
            Self::List(list) => {
                let booked = BookedAs::from(list.booked);
                let found = gateway.booked_deposits(booked, list.network, LISTED_MAX).await?;
                let json: Value = found.iter().map(row_json).collect();
                if found.is_empty() {
                    return Ok(Answer::new(json, format!("No deposit was booked as {booked}.")));
                }
                let rows: Vec<_> = found.iter().map(listed).collect();
                let heading =
                    ["network", "amount", "currency", "invoice", "booked at", "transaction"];
                Ok(Answer::new(json, render::table(&heading, &rows)))
            }
        }
    }
}

impl Explain {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        if let (Some(txid), Some(network)) = (&self.txid, self.network) {
            let story = gateway.explain_transaction(network, txid, self.height).await?;
            let text = format!("{}\n{}", place_text(&story), transfers_text(&story));
            return Ok(Answer::new(story_json(&story), text));
        }
        let address = self.address.unwrap_or_default();
        let mut stories = gateway.explain_address(&address).await?;
        if let Some(network) = self.network {
            for story in &mut stories {
                story.deposits.retain(|(row, _)| row.network == network);
            }
        }
        let json: Value = stories.iter().map(address_json).collect();
        let text: Vec<_> = stories.iter().map(address_text).collect();
        Ok(Answer::new(json, text.join("\n")))
    }
}

impl Import {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let by = if self.yes { Some(self.by.name()?) } else { None };
        let found =
            gateway.import_deposit(self.network, &self.txid, self.height, by.as_deref()).await?;
        let mut json = story_json(&found.story);
        json["missed"] = found.missed.clone().into();
        json["written"] = found.written.into();
        let text = format!("{}\n{}", place_text(&found.story), transfers_text(&found.story));
        let end = match (found.missed.len(), found.written) {
            (0, _) => "No deposit was missed; nothing was written.".to_owned(),
            (missed, 0) if by.is_none() => {
                format!("{missed} would be written; nothing was. Do it with --yes.")
            }
            (_, written) => {
                format!("{written} written; they are booked within seconds of their confirmations.")
            }
        };
        Ok(Answer::new(json, format!("{text}\n{end}")))
    }
}

impl Accept {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let reason = self.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
        let sure = match (self.yes, reason) {
            (true, Some(reason)) => Some((self.by.name()?, reason)),
            (true, None) => {
                return Err(wrong_usage("give the reason why it counts: --reason TEXT"));
            }
            (false, _) => None,
        };
        let named = sure.as_ref().map(|(by, reason)| (by.as_str(), *reason));
        let found = gateway.accept_deposit(self.network, &self.txid, self.height, named).await?;
        let mut json = story_json(&found.story);
        json["returned"] = found.returned.clone().into();
        json["accepted"] = found.accepted.into();
        let text = format!("{}\n{}", place_text(&found.story), transfers_text(&found.story));
        let end = match (found.returned.len(), found.accepted) {
            (0, _) => "No deposit of it had been reversed; nothing was changed.".to_owned(),
            (returned, 0) if sure.is_none() => {
                format!(
                    "{returned} would be credited; nothing was. Do it with --yes --reason TEXT."
                )
            }
            (_, 0) => "It was accepted meanwhile; nothing was changed.".to_owned(),
            (_, accepted) => format!("{accepted} accepted; they are booked within seconds."),
        };
        Ok(Answer::new(json, format!("{text}\n{end}")))
    }
}

fn place_text(story: &TransactionStory) -> String {
    let (network, hash) = (story.network, &story.tx_hash);
    match story.place {
        Place::Mined { height, mined_at, failed } => {
            let failed = if failed { "; it failed, so it moved nothing" } else { "" };
            format!("{hash} stands in block {height} of {network}, {}{failed}.", iso_8601(mined_at))
        }
        Place::Waiting => format!("{hash} waits on {network}: no final block holds it yet."),
        Place::Unknown => format!("No node of {network} knows {hash}."),
    }
}

fn transfers_text(story: &TransactionStory) -> String {
    if story.transfers.is_empty() {
        return match story.place {
            Place::Mined { failed: false, .. } => {
                "It shows no transfer. Internal transfers of contracts show in balances only: gatewayctl balances check."
                    .to_owned()
            }
            Place::Mined { .. } | Place::Waiting | Place::Unknown => {
                "No row refers to it.".to_owned()
            }
        };
    }
    let rows: Vec<_> = story.transfers.iter().map(|told| told_line(story, told)).collect();
    render::table(&["amount", "currency", "to", "whose", "counted"], &rows)
}

fn told_line(story: &TransactionStory, told: &Told) -> Vec<Cell> {
    let currency = match (told.currency, &told.contract) {
        (Some(currency), _) => Cell::from(currency.token_id()),
        (None, Some(contract)) => Cell::toned(format!("unknown token {contract}"), Tone::Doubtful),
        (None, None) => Cell::quiet("-"),
    };
    let (text, tone) = verdict(story, told);
    let by = |what: &str, name: &Option<String>| {
        name.as_ref().map_or_else(String::new, |name| format!("; {what} by {name}"))
    };
    let (imported, accepted) =
        (by("imported", &told.imported_by), by("accepted", &told.accepted_by));
    let text = format!("{text}{imported}{accepted}");
    vec![
        amount(told).into(),
        currency,
        Cell::from(&told.to),
        told.owner.as_ref().map_or_else(|| Cell::quiet("nobody's"), |owner| whose(owner).into()),
        Cell::toned(text, tone),
    ]
}

/// In whole coins if the token is known, in base units otherwise.
fn amount(told: &Told) -> String {
    let decimals = told.currency.map(|currency| u32::from(currency.decimals));
    in_coins(&told.amount_text, decimals)
}

fn in_coins(units: &str, decimals: Option<u32>) -> String {
    match (units.parse::<u128>(), decimals) {
        (Ok(units), Some(decimals)) => BaseUnits::new(units).to_decimal(decimals),
        _ => units.to_owned(),
    }
}

fn whose(owner: &KnownAddress) -> String {
    let of = owner.payment_id.clone().or_else(|| owner.payout_order_id.clone());
    let of = of.or_else(|| Some(format!("merchant {}", owner.own_of?)));
    of.map_or_else(|| "ours".to_owned(), |of| format!("{of}, given for {}", owner.network))
}

fn verdict(story: &TransactionStory, told: &Told) -> (String, Tone) {
    match &told.verdict {
        Verdict::NotOurs => ("no: not an address of ours".to_owned(), Tone::Quiet),
        Verdict::Zero => ("no: its amount is zero".to_owned(), Tone::Quiet),
        Verdict::BeforeAddress => {
            ("no: its block is from before the address was given".to_owned(), Tone::Doubtful)
        }
        Verdict::NotRead { cursor } => {
            let at = cursor
                .map_or_else(|| "nowhere yet".to_owned(), |height| format!("at block {height}"));
            (format!("not yet: the watcher is {at}"), Tone::Doubtful)
        }
        Verdict::ByBalance { key } => {
            (format!("yes, by the address's balance, as {key}"), Tone::Good)
        }
        Verdict::Missed => (
            format!(
                "MISSED: gatewayctl deposit import {} --network {}",
                story.tx_hash, story.network
            ),
            Tone::Bad,
        ),
        Verdict::Returned => (
            format!(
                "no: taken out of the books, and in a block AGAIN: gatewayctl deposit accept {} --network {}",
                story.tx_hash, story.network
            ),
            Tone::Bad,
        ),
        Verdict::Recorded(standing) => standing_words(standing, told.owner.as_ref()),
    }
}

fn standing_words(standing: &Standing, owner: Option<&KnownAddress>) -> (String, Tone) {
    match standing {
        Standing::Waiting => ("not yet: seen, waits for a block".to_owned(), Tone::Doubtful),
        Standing::Confirming { have, need } => {
            (format!("not yet: {have} of {need} confirmations"), Tone::Doubtful)
        }
        Standing::Final => ("confirmed, about to be booked".to_owned(), Tone::Good),
        Standing::Withdrawn => ("no: it vanished before it was confirmed".to_owned(), Tone::Bad),
        Standing::Reversed => {
            ("no: a reorganisation removed it after it was booked".to_owned(), Tone::Bad)
        }
        Standing::Booked { as_what, events } => {
            let status = owner.and_then(|owner| owner.invoice_status);
            let status =
                status.map_or_else(String::new, |status| format!("; the invoice is {status}"));
            let told = if events.is_empty() {
                "; no webhook told of it".to_owned()
            } else {
                format!("; told as {}", events.join(", "))
            };
            let (words, tone) = match as_what {
                BookedAs::Credit => ("yes", Tone::Good),
                BookedAs::Late => ("as late: it came after the end", Tone::Doubtful),
                BookedAs::Foreign => (
                    "no: not the currency and network of its invoice (wrong token)",
                    Tone::Doubtful,
                ),
                BookedAs::Suspicious => ("no: unknown token", Tone::Doubtful),
                BookedAs::Nothing | BookedAs::Gas => ("no: booked as nothing", Tone::Doubtful),
            };
            (format!("{words}{status}{told}"), tone)
        }
    }
}

fn standing_json(standing: &Standing) -> Value {
    match standing {
        Standing::Waiting => json!({ "state": "waiting" }),
        Standing::Confirming { have, need } => {
            json!({ "state": "confirming", "confirmations": have, "needed": need })
        }
        Standing::Final => json!({ "state": "final" }),
        Standing::Withdrawn => json!({ "state": "withdrawn" }),
        Standing::Reversed => json!({ "state": "reversed" }),
        Standing::Booked { as_what, events } => {
            json!({ "state": "booked", "booked_as": as_what, "events": events })
        }
    }
}

fn told_json(story: &TransactionStory, told: &Told) -> Value {
    let mut json = match &told.verdict {
        Verdict::NotOurs => json!({ "state": "not_ours" }),
        Verdict::Zero => json!({ "state": "zero" }),
        Verdict::BeforeAddress => json!({ "state": "before_address" }),
        Verdict::NotRead { cursor } => json!({ "state": "not_read", "cursor": cursor }),
        Verdict::ByBalance { key } => json!({ "state": "by_balance", "by": key }),
        Verdict::Missed => json!({ "state": "missed" }),
        Verdict::Returned => json!({ "state": "reversed", "returned": true }),
        Verdict::Recorded(standing) => standing_json(standing),
    };
    json["deposit_key"] = told.key.clone().into();
    json["to"] = told.to.clone().into();
    json["token_id"] = told.currency.map(|currency| currency.token_id()).into();
    json["contract"] = told.contract.clone().into();
    json["amount"] = amount(told).into();
    let owner = told.owner.as_ref();
    json["payment_id"] = owner.and_then(|owner| owner.payment_id.clone()).into();
    json["payout_order_id"] = owner.and_then(|owner| owner.payout_order_id.clone()).into();
    json["own_of"] = owner.and_then(|owner| owner.own_of).map(|id| id.to_string()).into();
    json["given_for"] = owner.map(|owner| owner.network.name()).into();
    json["imported_by"] = told.imported_by.clone().into();
    json["accepted_by"] = told.accepted_by.clone().into();
    json["why"] = verdict(story, told).0.into();
    json
}

fn story_json(story: &TransactionStory) -> Value {
    let (state, height, failed) = match story.place {
        Place::Mined { height, failed, .. } => ("mined", Some(height), failed),
        Place::Waiting => ("waiting", None, false),
        Place::Unknown => ("unknown", None, false),
    };
    json!({
        "network": story.network.name(),
        "txid": story.tx_hash,
        "state": state,
        "height": height,
        "failed": failed,
        "transfers": story.transfers.iter().map(|told| told_json(story, told)).collect::<Vec<_>>(),
    })
}

fn decimals(row: &FoundDeposit) -> Option<u32> {
    let currency = Catalogue::get().by_token_id(row.token_id.as_deref()?)?;
    Some(u32::from(currency.decimals))
}

fn currency_of(row: &FoundDeposit) -> Cell {
    match (&row.token_id, &row.contract) {
        (Some(token), _) => Cell::from(token),
        (None, contract) => render::or_dash(contract.as_ref()),
    }
}

fn row_json(row: &FoundDeposit) -> Value {
    json!({
        "network": row.network.name(),
        "txid": row.tx_hash,
        "deposit_key": row.deposit_key,
        "payment_id": row.payment_id,
        "to": row.match_key,
        "token_id": row.token_id,
        "contract": row.contract,
        "amount": in_coins(&row.amount_text, decimals(row)),
        "height": row.height,
        "booked_as": row.booked_as,
        "first_seen_at": iso_8601(row.first_seen_at),
        "settled_at": row.settled_at.map(iso_8601),
    })
}

fn listed(row: &FoundDeposit) -> Vec<Cell> {
    vec![
        row.network.name().into(),
        in_coins(&row.amount_text, decimals(row)).into(),
        currency_of(row),
        render::or_dash(row.payment_id.as_ref()),
        render::or_dash(row.settled_at.map(iso_8601)),
        Cell::from(&row.tx_hash),
    ]
}

fn address_json(story: &AddressStory) -> Value {
    let deposits: Vec<_> = story
        .deposits
        .iter()
        .map(|(row, standing)| {
            let mut json = row_json(row);
            if let (Value::Object(json), Value::Object(more)) = (&mut json, standing_json(standing))
            {
                json.extend(more);
            }
            json
        })
        .collect();
    json!({
        "address": story.owner.address,
        "given_for": story.owner.network.name(),
        "given_at": iso_8601(story.owner.created_at),
        "payment_id": story.owner.payment_id,
        "payout_order_id": story.owner.payout_order_id,
        "own_of": story.owner.own_of.map(|id| id.to_string()),
        "deposits": deposits,
    })
}

fn address_text(story: &AddressStory) -> String {
    let owner = &story.owner;
    let head = format!("{}: {}, {}", owner.address, whose(owner), iso_8601(owner.created_at));
    if story.deposits.is_empty() {
        return format!("{head}\nNothing was ever received there.");
    }
    let rows: Vec<_> = story
        .deposits
        .iter()
        .map(|(row, standing)| {
            let (words, tone) = standing_words(standing, Some(owner));
            vec![
                row.network.name().into(),
                in_coins(&row.amount_text, decimals(row)).into(),
                currency_of(row),
                Cell::toned(words, tone),
                Cell::from(&row.tx_hash),
            ]
        })
        .collect();
    let table = render::table(&["network", "amount", "currency", "counted", "transaction"], &rows);
    format!("{head}\n{table}")
}
