//! `gatewayctl currency …`, and the meaning of `CODE` and `CODE@NETWORK` on a command line.

use clap::{Args, Subcommand};
use gateway::{
    app::{
        Gateway,
        market::set_currency::{Change, CurrencyError, CurrencyState},
    },
    asset::{
        Network,
        catalogue::{Catalogue, Currency},
    },
    invoice::payment::json_number,
};
use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::{
    failure::wrong_usage,
    network,
    render::{self, Answer, Cell, Tone},
    words,
};

#[derive(Subcommand)]
pub enum Command {
    /// List the currencies that can be paid in, with their minimums
    #[command(after_help = words::CURRENCY_LIST)]
    List(List),
    /// Offer a currency for new invoices
    #[command(after_help = words::CURRENCY_ENABLE)]
    Enable(Which),
    /// Stop offering a currency; open invoices in it stay payable
    #[command(after_help = words::CURRENCY_DISABLE)]
    Disable(Which),
    /// Set the smallest invoice in a currency
    #[command(after_help = words::CURRENCY_SET_MIN)]
    SetMin(SetMin),
}

#[derive(Args)]
pub struct List {
    /// Only those of this network
    #[arg(long, value_name = "NET", hide_possible_values = true, value_parser = network::parser())]
    network: Option<Network>,
}

#[derive(Args)]
pub struct Which {
    /// The currency, such as btc or eth@base
    #[arg(value_name = "CODE[@NETWORK]")]
    currency: String,
}

#[derive(Args)]
pub struct SetMin {
    /// The currency, such as btc or eth@base
    #[arg(value_name = "CODE[@NETWORK]")]
    currency: String,
    /// US dollars, 0 or more, at most six decimals
    #[arg(value_name = "USD", value_parser = Decimal::from_str_exact)]
    usd: Decimal,
}

impl Command {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        match self {
            Self::List(list) => list.run(gateway).await,
            Self::Enable(which) => change(gateway, &which.currency, Change::Enable).await,
            Self::Disable(which) => change(gateway, &which.currency, Change::Disable).await,
            Self::SetMin(set) => change(gateway, &set.currency, Change::MinUsd(set.usd)).await,
        }
    }
}

impl List {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let mut all = gateway.currencies().await?;
        all.retain(|state| self.network.is_none_or(|network| network == state.currency.network));
        let rows: Vec<_> = all
            .iter()
            .map(|state| {
                vec![
                    state.currency.token_id().into(),
                    state.currency.symbol.into(),
                    state.currency.standard.name().into(),
                    offered(state),
                    format!("{} USD", state.min_usd.normalize()).into(),
                ]
            })
            .collect();
        let heading = ["currency", "symbol", "standard", "offered", "minimum"];
        Ok(Answer::new(all.iter().map(to_json).collect(), render::table(&heading, &rows)))
    }
}

async fn change(gateway: &Gateway, name: &str, change: Change) -> anyhow::Result<Answer> {
    let state = match gateway.set_currency(named(name)?, change).await {
        Err(CurrencyError::Minimum) => return Err(wrong_usage(CurrencyError::Minimum.to_string())),
        other => other?,
    };
    let id = state.currency.token_id();
    let minimum = state.min_usd.normalize();
    let text = if !state.enabled {
        format!("{id} is disabled.")
    } else if state.network_on {
        format!("{id} is enabled, from {minimum} USD on. New quotes use it within seconds.")
    } else {
        format!(
            "{id} is enabled, but its network is off: set GATEWAY_CHAINS__{}__SOURCE",
            state.currency.network.name().to_ascii_uppercase()
        )
    };
    Ok(Answer::new(to_json(&state), text))
}

fn offered(state: &CurrencyState) -> Cell {
    match (state.enabled, state.network_on) {
        (true, true) => Cell::toned("yes", Tone::Good),
        (true, false) => Cell::toned("network off", Tone::Doubtful),
        (false, _) => Cell::quiet("no"),
    }
}

fn to_json(state: &CurrencyState) -> Value {
    let currency = state.currency;
    json!({
        "token_id": currency.token_id(),
        "code": currency.code,
        "symbol": currency.symbol,
        "network": currency.network.name(),
        "standard": currency.standard.name(),
        "enabled": state.enabled,
        "network_on": state.network_on,
        "min_usd": json_number(&state.min_usd.normalize().to_string()),
        "default_min_usd": json_number(&currency.min_usd.normalize().to_string()),
    })
}

/// Resolves `text` to one currency. A code that several networks share needs the network: guessing
/// would change the wrong one.
pub fn named(text: &str) -> anyhow::Result<&'static Currency> {
    let text = text.trim();
    let all = Catalogue::get().all();
    let found = Catalogue::get().named(text);
    if text.contains('@') {
        return found.ok_or_else(|| unknown(text));
    }
    let mut same: Vec<_> = all.iter().filter(|c| c.code.eq_ignore_ascii_case(text)).collect();
    if same.is_empty() && found.is_none() {
        same = all.iter().filter(|c| c.symbol.eq_ignore_ascii_case(text)).collect();
    }
    match (same.as_slice(), found) {
        ([] | [_], Some(found)) => Ok(found),
        ([], None) => Err(unknown(text)),
        (possible, _) => {
            let ids: Vec<_> = possible.iter().map(|currency| currency.token_id()).collect();
            Err(wrong_usage(format!("{text} can be {}; say which", ids.join(", "))))
        }
    }
}

fn unknown(text: &str) -> anyhow::Error {
    wrong_usage(format!("{text} is no currency; `gatewayctl currency list` shows all"))
}
