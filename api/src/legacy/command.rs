//! Commands of the dialect, each by one function of `gateway::app`.

use gateway::{
    app::legacy::{LegacyError, read::LOOKED_UP_MAX},
    asset::Fiat,
    legacy::{Refusal, envelope::OK},
    storage::access::Caller,
};
use serde_json::{Map, Value, json};

use super::{params::Params, transaction, wire};
use crate::State;

const IDS_DEFAULT: i64 = 25;

/// Commands of CoinPayments that this gateway does not have: its clients are told what it tells
/// those whose key lacks a permission.
const NOT_PERMITTED: &[&str] = &[
    "get_deposit_address",
    "get_callback_address",
    "create_transfer",
    "create_withdrawal",
    "create_mass_withdrawal",
    "cancel_withdrawal",
    "get_withdrawal_history",
    "get_withdrawal_info",
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

/// Carries out a command of an authenticated request.
pub async fn run(gateway: &State, caller: &Caller, params: &Params) -> Result<Value, LegacyError> {
    let merchant_id = caller.merchant_id;
    match params.raw("cmd").trim() {
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

async fn ids(gateway: &State, caller: &Caller, params: &Params) -> Result<Value, LegacyError> {
    let limit = params.number("limit", IDS_DEFAULT);
    let (start, newer) = (params.number("start", 0), params.number("newer", 0));
    let ids = gateway.legacy_transaction_ids(caller.merchant_id, newer, limit, start).await?;
    if !params.flag("all") {
        return Ok(json!(ids));
    }
    let entry = |id: &String| json!({ "txid": id, "user_is": "seller" });
    Ok(Value::Array(ids.iter().map(entry).collect()))
}
