//! Commands of the dialect, each by one function of `gateway::app`.

use gateway::{
    app::legacy::{LegacyError, address::NewCallback, admit::LegacyCaller, read::LOOKED_UP_MAX},
    asset::Fiat,
    egress::guard::Policy,
    legacy::{Refusal, address::LABEL_CHARS_MAX, envelope::OK},
    storage::access::Caller,
};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    params::{CODE_CHARS_MAX, Params},
    terms, transaction, wire, withdrawal,
};
use crate::{State, payment::new_payment::URL_CHARS_MAX};

const IDS_DEFAULT: i64 = 25;

/// Commands of CoinPayments that this gateway does not have: their clients are told what it tells
/// those whose key lacks a permission.
const NOT_PERMITTED: &[&str] = &[
    "create_transfer",
    "convert",
    "convert_limits",
    "get_conversion_info",
    "get_pbn_info",
    "get_pbn_list",
    "buy_pbn_tags",
    "claim_pbn_tag",
    "update_pbn_tag",
    "renew_pbn_tag",
    "delete_pbn_tag",
    "claim_pbn_coupon",
];

/// Carries out a command of an authenticated request that came at `begun`.
pub async fn run(
    gateway: &State,
    admitted: &LegacyCaller,
    params: &Params,
    begun: Instant,
) -> Result<Value, LegacyError> {
    let caller = &admitted.caller;
    let merchant_id = caller.merchant_id;
    let cmd = params.raw("cmd").trim();
    if let Some(result) = withdrawal::run(gateway, admitted, cmd, params, begun).await {
        return result;
    }
    match cmd {
        "get_basic_info" => {
            let merchant = gateway.legacy_account(merchant_id).await?;
            Ok(wire::account(&merchant))
        }
        "rates" => {
            let tickers = gateway.legacy_rates(caller).await?;
            Ok(wire::rates(&tickers, params.flag("short"), params.number("accepted", 0)))
        }
        "balances" => {
            let found = gateway.balance(merchant_id, Fiat::Usd).await?;
            let codes = if params.flag("all") { gateway.legacy_codes().await? } else { Vec::new() };
            Ok(wire::balances(&found, &codes))
        }
        "create_transaction" => {
            let new = transaction::read(params, gateway.egress.policy())?;
            let made = gateway.create_legacy_transaction(caller, &new).await?;
            Ok(wire::created(gateway, &made))
        }
        "get_tx_info" => {
            let found = gateway.legacy_transaction(merchant_id, params.raw("txid").trim()).await?;
            Ok(wire::info(&found, params.flag("full")))
        }
        "get_tx_info_multi" => several(gateway, caller, params).await,
        "get_tx_ids" => ids(gateway, caller, params).await,
        "get_callback_address" => {
            let new = callback(params, gateway.egress.policy())?;
            let address = gateway.legacy_callback_address(caller, new).await?;
            Ok(json!({ "address": address }))
        }
        "get_deposit_address" => {
            let code = params.text("currency", CODE_CHARS_MAX).ok().flatten();
            let code = code.ok_or(Refusal::Currency("currency"))?;
            let address = gateway.legacy_deposit_address(caller, &code).await?;
            Ok(json!({ "address": address }))
        }
        known if NOT_PERMITTED.contains(&known) => Err(Refusal::Permission.into()),
        _ => Err(Refusal::Command.into()),
    }
}

/// Each id has a result of its own, failed ones too.
async fn several(gateway: &State, caller: &Caller, params: &Params) -> Result<Value, LegacyError> {
    let ids: Vec<_> = params.raw("txid").split('|').map(str::trim).collect();
    if ids.len() > LOOKED_UP_MAX {
        return Err(Refusal::TooMany { max: LOOKED_UP_MAX }.into());
    }
    let mut results = Map::new();
    for id in ids.into_iter().filter(|id| !id.is_empty()) {
        let result = match gateway.legacy_transaction(caller.merchant_id, id).await {
            Ok(found) => {
                let mut info = wire::info(&found, false);
                info["error"] = json!(OK);
                info
            }
            Err(LegacyError::Refused(refusal)) => json!({ "error": refusal.to_string() }),
            Err(error @ LegacyError::Storage(_)) => return Err(error),
        };
        results.insert(id.to_owned(), result);
    }
    Ok(Value::Object(results))
}

fn callback(params: &Params, policy: &Policy) -> Result<NewCallback, Refusal> {
    let currency = params.text("currency", CODE_CHARS_MAX).ok().flatten();
    Ok(NewCallback {
        currency: currency.ok_or(Refusal::Currency("currency"))?,
        ipn_url: terms::callback(params, policy, URL_CHARS_MAX)?,
        label: params.text("label", LABEL_CHARS_MAX)?,
    })
}

/// The oldest second, the length and the offset of a list.
pub fn listed(params: &Params) -> (i64, i64, i64) {
    let number = |name, default| params.number(name, default);
    (number("newer", 0), number("limit", IDS_DEFAULT), number("start", 0))
}

async fn ids(gateway: &State, caller: &Caller, params: &Params) -> Result<Value, LegacyError> {
    let (newer, limit, start) = listed(params);
    let ids = gateway.legacy_transaction_ids(caller.merchant_id, newer, limit, start).await?;
    if !params.flag("all") {
        return Ok(json!(ids));
    }
    let entry = |id: &String| json!({ "txid": id, "user_is": "seller" });
    Ok(Value::Array(ids.iter().map(entry).collect()))
}
