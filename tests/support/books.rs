//! The exports of a merchant beside the ledger: whatever has happened, they agree to the unit.

use std::collections::BTreeMap;

use bigdecimal::{BigDecimal, Zero};
use chrono::{DateTime, TimeDelta, Utc};
use gateway::{
    accounting::{Export, Format, Range, file::Choice},
    app::{Gateway, accounting::export::Request},
    asset::catalogue::Catalogue,
};
use sqlx::PgConnection;
use tokio::io::AsyncReadExt;
use uuid::Uuid;

/// A row of an export by the names of its columns.
pub type Row = BTreeMap<String, String>;
/// Signed amounts in whole coins by the code of their currency.
pub type Sums = BTreeMap<String, BigDecimal>;

/// The file of an export, and the number of rows that it is said to have.
pub async fn file(
    gateway: &Gateway,
    merchant_id: Uuid,
    (export, format): (Export, Format),
    range: Range,
) -> (String, u64) {
    let request = Request { merchant_id, export, format, range, choice: Choice::default() };
    let mut spooled = gateway.export(&request).await.unwrap();
    let mut text = String::new();
    spooled.file.read_to_string(&mut text).await.unwrap();
    assert_eq!(u64::try_from(text.len()).unwrap(), spooled.bytes);
    (text, spooled.rows)
}

/// The rows of a CSV file.
pub fn rows(file: &str) -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(file.as_bytes());
    reader.deserialize().collect::<Result<_, _>>().unwrap()
}

/// The moment at which a bookkeeper asks.
#[expect(clippy::disallowed_methods, reason = "a client has no clock but its own")]
pub fn now() -> DateTime<Utc> {
    Utc::now()
}

/// Everything of the last 300 days, and of the day to come.
pub fn recent() -> Range {
    let now = now();
    Range { from: now - TimeDelta::days(300), to: now + TimeDelta::days(1) }
}

pub async fn export(gateway: &Gateway, merchant_id: Uuid, export: Export) -> Vec<Row> {
    let (file, count) = file(gateway, merchant_id, (export, Format::Csv), recent()).await;
    let rows = rows(&file);
    assert_eq!(u64::try_from(rows.len()).unwrap(), count, "{export}");
    rows
}

/// An amount of a cell; an empty one is none.
pub fn coins(cell: &str) -> BigDecimal {
    if cell.is_empty() { BigDecimal::zero() } else { cell.parse().unwrap() }
}

/// Signed base units of a currency in whole coins.
fn in_coins(code: &str, units: &str) -> BigDecimal {
    let currency = Catalogue::get().all().iter().find(|known| known.code == code).unwrap();
    let (units, _) = units.parse::<BigDecimal>().unwrap().into_bigint_and_scale();
    BigDecimal::new(units, currency.decimals.into())
}

/// Sums the column `amount` of `rows` by currency.
pub fn sums<'a>(rows: impl Iterator<Item = &'a Row>, currency: &str, amount: &str) -> Sums {
    let mut sums = Sums::new();
    for row in rows {
        *sums.entry(row[currency].clone()).or_default() += coins(&row[amount]);
    }
    sums.retain(|_, sum| !sum.is_zero());
    sums
}

/// The sides of a merchant's entries, each as kind, account, code of the currency and signed units.
const SIDES: &str = "
    with owner as (
        select kind || ':' || $1::text as account from unnest(array['merchant', 'late', 'foreign']) as kind
        union select 'payout:' || id from payout_order where merchant_id = $1
    )
    select e.kind, side.account, split_part(e.asset, '@', 1), side.units::text
    from ledger_entry e
    cross join lateral (values (e.credit, e.amount), (e.debit, -e.amount)) as side (account, units)
    where side.account in (select account from owner)";

/// The sides of a merchant's entries.
struct Sides(Vec<(String, String, String, String)>);

impl Sides {
    /// The signed sums of the entries of some kinds, or of all, on the accounts that begin so.
    fn booked(&self, kinds: &[&str], account: &str) -> Sums {
        let mut sums = Sums::new();
        for (kind, of, code, units) in &self.0 {
            if of.starts_with(account) && (kinds.is_empty() || kinds.contains(&kind.as_str())) {
                *sums.entry(code.clone()).or_default() += in_coins(code, units);
            }
        }
        sums.retain(|_, sum| !sum.is_zero());
        sums
    }

    /// The balances of the accounts in each currency.
    fn balances(&self) -> BTreeMap<(String, String), BigDecimal> {
        let mut balances = BTreeMap::<_, BigDecimal>::new();
        for (_, account, code, units) in &self.0 {
            *balances.entry((account.clone(), code.clone())).or_default() += in_coins(code, units);
        }
        balances
    }
}

fn added(all: impl IntoIterator<Item = Sums>) -> Sums {
    let mut total = Sums::new();
    for (code, sum) in all.into_iter().flatten() {
        *total.entry(code).or_default() += sum;
    }
    total.retain(|_, sum| !sum.is_zero());
    total
}

fn negated(sums: Sums) -> Sums {
    sums.into_iter().map(|(code, sum)| (code, -sum)).collect()
}

/// Expects the ledger to be whole, and the five exports of a merchant to say what it says. Returns
/// the rows of the ledger's export.
pub async fn agree(gateway: &Gateway, connection: &mut PgConnection, merchant_id: Uuid) -> usize {
    let verdict = gateway.verify_ledger(None).await.unwrap();
    assert_eq!((verdict.faults, &verdict.told[..]), (0, &[][..]));
    assert!(verdict.compared && verdict.entries > 0);
    let sides = sqlx::query_as(SIDES).bind(merchant_id).fetch_all(connection).await.unwrap();
    let sides = Sides(sides);
    let rows = ledger_agrees(gateway, merchant_id, &sides).await;

    let payments = export(gateway, merchant_id, Export::Payments).await;
    let kinds = ["deposit", "late_deposit", "foreign_deposit", "reversal"];
    let accounts = ["merchant:", "late:", "foreign:"].map(|account| sides.booked(&kinds, account));
    assert_eq!(sums(payments.iter(), "currency", "amount"), added(accounts));
    for (kind, account) in [("late", "late:"), ("wrong_token", "foreign:")] {
        let of_kind = payments.iter().filter(|row| row["kind"] == kind);
        assert_eq!(sums(of_kind, "currency", "amount"), sides.booked(&kinds, account), "{kind}");
    }

    let invoices = export(gateway, merchant_id, Export::Invoices).await;
    let settled = sums(invoices.iter(), "pay_currency", "settled_amount");
    assert_eq!(settled, sides.booked(&[], "merchant:"));

    let fees = export(gateway, merchant_id, Export::Fees).await;
    let kept = sides.booked(&["payout_fee", "payout_fee_returned"], "payout:");
    assert_eq!(sums(fees.iter(), "currency", "amount"), negated(kept));

    let payouts = export(gateway, merchant_id, Export::Payouts).await;
    let confirmed = payouts.iter().filter(|row| row["state"] == "confirmed");
    // A reversal in the ledger may be that of a payment to a recipient or of a refund.
    if sides.booked(&["payout_reversal"], "payout:").is_empty() {
        let sent = sides.booked(&["payout_sent"], "payout:");
        assert_eq!(sums(confirmed, "currency", "amount"), negated(sent));
    }
    rows
}

/// Debits equal credits, and each account ends with its balance.
async fn ledger_agrees(gateway: &Gateway, merchant_id: Uuid, sides: &Sides) -> usize {
    let ledger = export(gateway, merchant_id, Export::Ledger).await;
    let debits = sums(ledger.iter(), "currency", "debit");
    assert_eq!(debits, sums(ledger.iter(), "currency", "credit"));
    let mut last = BTreeMap::new();
    for row in &ledger {
        let place = (row["account"].clone(), row["currency"].clone());
        last.insert(place, coins(&row["balance_after"]));
    }
    for (place, balance) in sides.balances() {
        assert_eq!(last.get(&place), Some(&balance), "{place:?}");
    }
    // What he has came from somewhere: over all accounts each currency sums to zero.
    let over_all = last.into_iter().map(|((_, code), balance)| Sums::from([(code, balance)]));
    assert_eq!(added(over_all), Sums::new());
    ledger.len()
}
