//! `gatewayctl simulate …`: manual control of the sandbox's chain.

use anyhow::Context;
use clap::{Args, Subcommand};
use gateway::{
    app::{
        Gateway,
        sandbox::{
            history::plan::DAYS,
            simulate::{Deposit as NewDeposit, PaidIn, Payee, SimulateError, Simulated},
        },
    },
    asset::Network,
    payout::State,
};
use serde_json::json;

use crate::{failure::wrong_usage, network, operator, render::Answer, words};

#[derive(Subcommand)]
pub enum Simulate {
    /// Pay an invoice or an address; mined and confirmed at once unless --unconfirmed
    #[command(after_help = words::SIMULATE_DEPOSIT)]
    Deposit(Deposit),
    /// Mine a waiting transaction and the blocks that confirm it
    #[command(after_help = words::SIMULATE_CONFIRM)]
    Confirm(Transaction),
    /// Take a transaction out of the chain, by a reorganisation if it was mined
    #[command(after_help = words::SIMULATE_ORPHAN)]
    Orphan(Transaction),
    /// Mine blocks; the first one takes everything that waits
    #[command(after_help = words::SIMULATE_MINE)]
    Mine(Mine),
    /// Give a merchant a month of orders, paid and unpaid, so that pages show something
    #[command(after_help = words::SIMULATE_HISTORY)]
    History(History),
}

#[derive(Args)]
pub struct Deposit {
    /// The invoice to pay, in its own currency unless told otherwise
    #[arg(long, value_name = "ID", required_unless_present_any = ["address", "payout"], conflicts_with_all = ["network", "address"])]
    payment_id: Option<String>,
    /// The confirmed payout order to fund
    #[arg(long, value_name = "ORDER_ID", conflicts_with_all = ["payment_id", "network", "address"])]
    payout: Option<String>,
    /// The network of --address
    #[arg(long, value_name = "NET", hide_possible_values = true, value_parser = network::parser(), requires = "address")]
    network: Option<Network>,
    /// The address to pay
    #[arg(long, requires = "network")]
    address: Option<String>,
    /// Amount in whole coins, such as 12.5; without it an order gets its missing amount
    #[arg(long, value_name = "DECIMAL", required_unless_present = "payout")]
    amount: Option<String>,
    /// Pay in this currency of the same network
    #[arg(long, value_name = "CODE[@NETWORK]")]
    currency: Option<String>,
    /// Pay in the token of this contract, known or not
    #[arg(long, value_name = "ADDRESS")]
    contract: Option<String>,
    /// Choose the transaction's id; the same one again is the same transaction seen again
    #[arg(long, value_name = "HEX", value_parser = transaction_id)]
    txid: Option<String>,
    /// Leave it in the mempool
    #[arg(long)]
    unconfirmed: bool,
}

#[derive(Args)]
pub struct Transaction {
    /// The transaction's id, as `simulate deposit` printed it
    #[arg(long, value_name = "HEX", value_parser = transaction_id)]
    txid: String,
}

#[derive(Args)]
pub struct Mine {
    /// The network to mine on
    #[arg(long, value_name = "NET", hide_possible_values = true, value_parser = network::parser())]
    network: Network,
    /// Number of blocks
    #[arg(long, value_name = "N", default_value_t = 1)]
    blocks: u32,
}

#[derive(Args)]
pub struct History {
    /// The merchant; one that has orders of an earlier day keeps them and gets no others
    #[arg(long, value_name = "ID")]
    merchant: uuid::Uuid,
    /// Address of the shop's receiver, which the webhooks name; without it there are none
    #[arg(long, value_name = "URL")]
    ipn_url: Option<String>,
}

fn transaction_id(text: &str) -> Result<String, &'static str> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let fits = (1..=128).contains(&digits.len());
    if fits && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(text.to_owned())
    } else {
        Err("1 to 128 hex digits, with or without 0x")
    }
}

impl Simulate {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        match self {
            Self::Deposit(deposit) => deposit.run(gateway).await,
            Self::Confirm(Transaction { txid }) => {
                let done = gateway.simulate_confirm(&txid).await?;
                answer(&done, &format!("{txid}{}", place(&done)))
            }
            Self::Orphan(Transaction { txid }) => {
                let done = gateway.simulate_orphan(&txid).await?;
                let text = format!(
                    "{txid} is no longer in the chain of {} (head {})",
                    done.network, done.head
                );
                answer(&done, &text)
            }
            Self::History(History { merchant, ipn_url }) => {
                let by = Some(operator::account()).filter(|name| !name.is_empty());
                let (by, url) = (by.unwrap_or_else(|| "unknown".to_owned()), ipn_url.as_deref());
                let orders = gateway.simulate_history(merchant, url, &by).await?;
                let text = if orders == 0 {
                    "The merchant already has earlier orders; nothing was changed.".to_owned()
                } else {
                    format!("{orders} orders of the last {DAYS} days were written.")
                };
                Ok(Answer::new(json!({ "orders": orders }), text))
            }
            Self::Mine(Mine { network, blocks }) => {
                let head = gateway.simulate_mine(network, blocks).await?;
                let json = json!({ "network": network.name(), "blocks": blocks, "head": head });
                Ok(Answer::new(json, format!("The head of {network} is block {head}.")))
            }
        }
    }
}

impl Deposit {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let order = match &self.payout {
            Some(order_id) => Some(Funding::of(gateway, order_id).await?),
            None => None,
        };
        let payee = match (&order, &self.payment_id, self.network, self.address) {
            (Some(order), ..) => {
                Payee::Address { network: order.network, address: order.address.clone() }
            }
            (None, Some(id), ..) => Payee::Invoice(id.clone()),
            (None, None, Some(network), Some(address)) => Payee::Address { network, address },
            (None, ..) => {
                return Err(wrong_usage("give --payment-id, --payout, or --network and --address"));
            }
        };
        let (own, missing) = order.map(|order| (order.currency, order.missing)).unzip();
        let amount = self.amount.or(missing.flatten()).context(
            "the order waits for nothing more; give --amount to send it more all the same",
        )?;
        let deposit = NewDeposit {
            payee,
            paid_in: PaidIn { currency: self.currency.or(own), contract: self.contract },
            amount,
            txid: self.txid,
            unconfirmed: self.unconfirmed,
        };
        let done = gateway.simulate_deposit(&deposit).await.map_err(misused)?;
        let seen = if done.new { "" } else { " was known already and" };
        let waits = if done.height.is_some() { "" } else { " waits in the mempool" };
        let mut text = format!("{}{seen}{waits}{}", done.txid, place(&done));
        if done.height.is_none() {
            text.push_str(&format!("\nMine it: gatewayctl simulate confirm --txid {}", done.txid));
        }
        if let Some(payment_id) = self.payment_id {
            text.push_str(&format!("\nThe result: gatewayctl invoice explain {payment_id}"));
        }
        if let Some(order_id) = self.payout {
            text.push_str(&format!("\nFollow it: gatewayctl payouts watch {order_id}"));
        }
        answer(&done, &text)
    }
}

/// Amount that a payout order waits for.
struct Funding {
    network: Network,
    address: String,
    currency: String,
    /// In whole coins, if anything is missing.
    missing: Option<String>,
}

impl Funding {
    async fn of(gateway: &Gateway, order_id: &str) -> anyhow::Result<Self> {
        let (order, _) = gateway.payout_progress(order_id).await?;
        let currency = order.currency;
        let missing = order.total_to_send.remaining_after(order.books.credited);
        let waits = order.state == State::PendingDeposit && !missing.is_zero();
        let place = order
            .deposit
            .context("the order has no address yet: its merchant confirms it first")?;
        Ok(Self {
            network: currency.network,
            address: place.address,
            currency: currency.code.to_owned(),
            missing: waits.then(|| missing.to_decimal(u32::from(currency.decimals))),
        })
    }
}

/// Arguments that can never work are wrong usage; all other errors depend on the stack.
fn misused(error: SimulateError) -> anyhow::Error {
    let never = matches!(
        error,
        SimulateError::UnknownCurrency(..)
            | SimulateError::Address { .. }
            | SimulateError::Amount(_)
            | SimulateError::TransactionId
    );
    if never { wrong_usage(error.to_string()) } else { error.into() }
}

fn place(done: &Simulated) -> String {
    match done.height {
        Some(height) => format!(" is in block {height} of {} (head {})", done.network, done.head),
        None => format!(" of {} (head {})", done.network, done.head),
    }
}

fn answer(done: &Simulated, text: &str) -> anyhow::Result<Answer> {
    Ok(Answer::new(serde_json::to_value(done)?, text))
}
