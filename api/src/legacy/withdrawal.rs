//! Withdrawals: their fields, and their results.

use std::{collections::BTreeMap, time::Duration};

use gateway::{
    app::legacy::{LegacyError, admit::LegacyCaller, withdraw::NewWithdrawal},
    egress::guard::Policy,
    legacy::{Refusal, amount::Parts, envelope::OK, withdrawal::MASS_MAX, withdrawal::standing},
    payout::recipients::{LABEL_CHARS_MAX, is_label},
    storage::legacy_withdrawals::WithdrawalRow,
};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use super::{
    command::listed,
    params::{CODE_CHARS_MAX, Params},
    terms,
};
use crate::{State, payment::new_payment::URL_CHARS_MAX};

const ADDRESS_CHARS_MAX: usize = 128;
/// Characters of the key of one withdrawal among many, which is repeated.
const KEY_CHARS_MAX: usize = 64;
const MASS_FIELD: &str = "wd";

/// The time for withdrawals. The request's own limit answers an error of HTTP, and the shop would
/// not learn which of them are ordered, nor that one may be.
#[derive(Debug, Clone, Copy)]
struct Deadlines {
    /// None is begun from here on.
    last_begin: Instant,
    /// One that was begun is given up here, and the answer leaves.
    answer: Instant,
}

impl Deadlines {
    /// Half and three quarters of `limit`, which counts from the arrival of the request.
    fn of(begun: Instant, limit: Duration) -> Self {
        Self { last_begin: begun + limit / 2, answer: begun + limit * 3 / 4 }
    }
}

/// Carries out a command about withdrawals that came at `begun`; `None` if `cmd` is another one.
pub async fn run(
    gateway: &State,
    caller: &LegacyCaller,
    cmd: &str,
    params: &Params,
    begun: Instant,
) -> Option<Result<Value, LegacyError>> {
    let known = [
        "create_withdrawal",
        "create_mass_withdrawal",
        "cancel_withdrawal",
        "get_withdrawal_history",
        "get_withdrawal_info",
    ];
    if !known.contains(&cmd) {
        return None;
    }
    if !caller.may_withdraw || !gateway.config.payouts_enabled() {
        return Some(Err(Refusal::Permission.into()));
    }
    let id = params.raw("id").trim();
    let limit = Duration::from_secs(gateway.config.api.request_timeout_seconds);
    let deadlines = Deadlines::of(begun, limit);
    Some(match cmd {
        "create_withdrawal" => within(deadlines, create(gateway, caller, params)).await,
        "create_mass_withdrawal" => create_many(gateway, caller, params, deadlines).await,
        "cancel_withdrawal" => {
            let cancelled = gateway.cancel_legacy_withdrawal(&caller.caller, id).await;
            cancelled.map(|()| json!([]))
        }
        "get_withdrawal_history" => {
            let found = gateway.legacy_withdrawals(&caller.caller, listed(params)).await;
            found.map(|rows| rows.iter().map(info).collect()).map_err(Into::into)
        }
        _ => gateway.legacy_withdrawal(&caller.caller, id).await.map(|row| info(&row)),
    })
}

async fn create(
    gateway: &State,
    caller: &LegacyCaller,
    params: &Params,
) -> Result<Value, LegacyError> {
    let new = read(params, gateway.egress.policy())?;
    let made = gateway.create_legacy_withdrawal(&caller.caller, &new).await?;
    Ok(created(&made))
}

/// Each has a result of its own under the key that it was sent with, failed ones too, and those for
/// which there was no time.
async fn create_many(
    gateway: &State,
    caller: &LegacyCaller,
    params: &Params,
    deadlines: Deadlines,
) -> Result<Value, LegacyError> {
    let wanted = many(params)?;
    let mut results = Map::new();
    for (key, params) in wanted {
        let made = within(deadlines, create(gateway, caller, &params)).await;
        let result = match made {
            Ok(mut made) => {
                made["error"] = json!(OK);
                made
            }
            Err(LegacyError::Refused(refusal)) => json!({ "error": refusal.to_string() }),
            // Nothing of it is ordered. Those before it are: the answer has to name them.
            Err(LegacyError::Storage(error)) => {
                tracing::error!(%error, "a withdrawal among many failed");
                json!({ "error": Refusal::Internal.to_string() })
            }
        };
        results.insert(key, result);
    }
    Ok(Value::Object(results))
}

/// The outcome of one withdrawal, if it may begin and ends in time. One that does not end is rolled
/// back, unless its transaction was just being committed.
async fn within(
    deadlines: Deadlines,
    create: impl Future<Output = Result<Value, LegacyError>>,
) -> Result<Value, LegacyError> {
    if Instant::now() >= deadlines.last_begin {
        return Err(Refusal::NoTime.into());
    }
    let made = timeout_at(deadlines.answer, create).await;
    made.unwrap_or_else(|_| Err(Refusal::Unclear.into()))
}

/// The withdrawals of `wd[<key>][<field>]`, by their keys.
fn many(params: &Params) -> Result<BTreeMap<String, Params>, Refusal> {
    let mut wanted: BTreeMap<String, Params> = BTreeMap::new();
    for (name, value) in params.all() {
        let Some((key, field)) = parts_of(name) else { continue };
        if key.is_empty() || key.chars().count() > KEY_CHARS_MAX {
            return Err(Refusal::Field(MASS_FIELD));
        }
        wanted.entry(key.to_owned()).or_default().set(field, value);
    }
    match wanted.len() {
        0 => Err(Refusal::NoWithdrawals),
        count if count > MASS_MAX => Err(Refusal::TooManyWithdrawals { max: MASS_MAX }),
        _ => Ok(wanted),
    }
}

/// The key and the field of `wd[<key>][<field>]`.
fn parts_of(name: &str) -> Option<(&str, &str)> {
    let inner = name.strip_prefix(MASS_FIELD)?.strip_prefix('[')?.strip_suffix(']')?;
    inner.split_once("][")
}

/// Validates a withdrawal; the first fault is reported.
fn read(params: &Params, policy: &Policy) -> Result<NewWithdrawal, Refusal> {
    let amount = params.price("amount")?.filter(|amount| !amount.is_zero());
    let code = |name| params.text(name, CODE_CHARS_MAX).ok().flatten();
    let is_sent = |name| !params.raw(name).trim().is_empty();
    if is_sent("pbntag") || is_sent("domain") {
        return Err(Refusal::PayByName);
    }
    // No network that pays out has such a tag: one that is dropped would lose the money.
    if is_sent("dest_tag") {
        return Err(Refusal::Field("dest_tag"));
    }
    let note = params.text("note", LABEL_CHARS_MAX)?;
    if note.as_deref().is_some_and(|note| !is_label(note)) {
        return Err(Refusal::Field("note"));
    }
    Ok(NewWithdrawal {
        amount: amount.ok_or(Refusal::NoAmount)?,
        currency: code("currency").ok_or(Refusal::Currency("currency"))?,
        currency2: code("currency2").filter(|code| code != terms::NONE),
        address: params.text("address", ADDRESS_CHARS_MAX)?.ok_or(Refusal::Field("address"))?,
        add_tx_fee: params.switch("add_tx_fee")?,
        auto_confirm: params.switch("auto_confirm")?,
        ipn_url: terms::callback(params, policy, URL_CHARS_MAX)?,
        note,
        refund_address: params.text("refund_address", ADDRESS_CHARS_MAX)?,
    })
}

/// The result of `create_withdrawal`, with the deposit that has to be made, for which the dialect
/// has no words: nothing is paid from a balance here.
fn created(row: &WithdrawalRow) -> Value {
    let standing = standing(row.state, row.is_held);
    let mut result = json!({
        "id": row.withdrawal_id,
        "status": standing.code,
        "amount": amount(row).text(),
        "net_amount": net_amount(row).text(),
    });
    funding(row, &mut result);
    result
}

fn info(row: &WithdrawalRow) -> Value {
    let standing = standing(row.state, row.is_held);
    let amount = amount(row);
    let mut info = json!({
        "id": row.withdrawal_id,
        "time_created": row.created_at.timestamp(),
        "status": standing.code,
        "status_text": standing.text,
        "coin": row.currency.legacy_code(),
        "amount": super::wire::whole(amount),
        "amountf": amount.text(),
        "net_amount": net_amount(row).text(),
        "send_address": row.address,
        "send_dest_tag": "",
        "send_txid": row.tx_hash.as_deref().unwrap_or_default(),
        "note": row.note.as_deref().unwrap_or_default(),
        "payout_id": row.order_id,
    });
    funding(row, &mut info);
    info
}

fn amount(row: &WithdrawalRow) -> Parts {
    Parts::rounded_down(row.amount, u32::from(row.currency.decimals))
}

/// For which the dialect has no word either.
fn net_amount(row: &WithdrawalRow) -> Parts {
    Parts::rounded_down(row.net_amount, u32::from(row.currency.decimals))
}

fn funding(row: &WithdrawalRow, result: &mut Value) {
    result["payout_id"] = json!(row.order_id);
    if row.state.is_terminal() {
        return;
    }
    if let Some(address) = &row.deposit_address {
        let due = Parts::rounded_up(row.total_to_send, u32::from(row.currency.decimals));
        result["deposit_address"] = json!(address);
        result["deposit_amount"] = json!(due.text());
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[test]
    fn many_withdrawals_are_read_by_their_keys() {
        let params = Params::parse(
            b"wd%5Bwd1%5D%5Bamount%5D=1&wd[wd1][currency]=BTC&wd[2][amount]=3&wd=x&wd[y]=1&cmd=z",
        );
        let wanted = many(&params).unwrap();
        assert_eq!(wanted.keys().collect::<Vec<_>>(), ["2", "wd1"]);
        assert_eq!((wanted["wd1"].raw("currency"), wanted["2"].raw("amount")), ("BTC", "3"));
        assert_eq!(many(&Params::parse(b"wd=1")).unwrap_err(), Refusal::NoWithdrawals);
        assert_eq!(many(&Params::parse(b"wd[][a]=1")).unwrap_err(), Refusal::Field("wd"));
        let many_of: String = (0..=MASS_MAX).map(|n| format!("wd[{n}][amount]=1&")).collect();
        let refused = many(&Params::parse(many_of.as_bytes())).unwrap_err();
        assert_eq!(refused, Refusal::TooManyWithdrawals { max: MASS_MAX });
    }

    #[tokio::test]
    async fn one_that_is_slow_is_given_up_and_none_is_begun_after_half_of_the_time() {
        let now = Instant::now();
        let deadlines = Deadlines::of(now, Duration::from_secs(12));
        assert_eq!(deadlines.last_begin - now, Duration::from_secs(6));
        assert_eq!(deadlines.answer - now, Duration::from_secs(9));
        let outcome = async |deadlines, create| match within(deadlines, create).await {
            Err(LegacyError::Refused(refusal)) => Err(refusal),
            Err(LegacyError::Storage(error)) => panic!("{error}"),
            Ok(made) => Ok(made),
        };
        let (quick, slow) = (Duration::ZERO, Duration::from_secs(3600));
        let taking = |time| async move {
            sleep(time).await;
            Ok(json!(1))
        };
        assert_eq!(outcome(deadlines, taking(quick)).await, Ok(json!(1)));
        let at_its_end = Deadlines { answer: now, ..deadlines };
        assert_eq!(outcome(at_its_end, taking(slow)).await, Err(Refusal::Unclear));
        let too_late = Deadlines { last_begin: now, ..deadlines };
        assert_eq!(outcome(too_late, taking(quick)).await, Err(Refusal::NoTime));
    }
}
