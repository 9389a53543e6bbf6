//! Required state of the books once a scenario is over.

use std::collections::{HashMap, HashSet};

use gateway::chain::{Transfer, TransferAmount, TransferAsset};

use super::story::{Story, worth};

/// A deposit as the rows have it, with its booked amount.
#[derive(Debug, sqlx::FromRow)]
struct Row {
    deposit_key: String,
    state: String,
    booked_as: Option<String>,
    booked: String,
}

const ROWS: &str = "
    select d.deposit_key, d.state, d.booked_as,
           coalesce((select sum(case e.kind when 'reversal' then -e.amount else e.amount end)
                     from ledger_entry e where e.source = d.id and e.kind not in ('excess', 'excess_reversal')), 0)::text
               as booked
    from deposit d
    where not d.found_by_balance and not exists (select from deposit next where next.replaces = d.id)";

/// Checks that the books equal the canonical chain, once reversed deposits that came back were
/// accepted manually.
pub async fn judge(story: &mut Story<'_>) {
    let accepted = story.accept().await;
    let canonical = story.canonical();
    judge_unseen(story).await;
    let rows: Vec<Row> = sqlx::query_as(ROWS).fetch_all(&mut story.connection).await.unwrap();
    let is_deep = story.rules.is_deep;
    for row in &rows {
        let expected = canonical.get(&row.deposit_key).map_or(0, worth);
        match row.state.as_str() {
            "settled" => {
                assert!(canonical.contains_key(&row.deposit_key), "not on the chain: {row:?}");
                assert_eq!(row.booked, expected.to_string(), "{row:?}");
                assert_eq!(
                    row.booked_as.as_deref() == Some("suspicious"),
                    expected == 0,
                    "{row:?}"
                );
            }
            "withdrawn" => {
                assert!(!canonical.contains_key(&row.deposit_key), "it is there: {row:?}");
                assert_eq!(row.booked, "0", "{row:?}");
            }
            "reversed" => {
                assert!(is_deep, "nothing final was taken back: {row:?}");
                assert_eq!(row.booked, "0", "{row:?}");
                let back = canonical.get(&row.deposit_key).filter(|transfer| moved(transfer));
                assert!(back.is_none(), "it came back and was not accepted: {row:?}");
                story.tally.reversed += 1;
            }
            _ => panic!("not done: {row:?}"),
        }
    }
    let found: HashSet<_> = rows.iter().map(|row| &row.deposit_key).collect();
    let paid = canonical.iter().filter(|(_, transfer)| moved(transfer));
    let missing: Vec<_> = paid.filter(|(key, _)| !found.contains(key)).collect();
    assert!(missing.is_empty(), "never found: {missing:?}");
    judge_alerts(story).await;
    story.tally.accepted += u64::from(accepted);
    if story.tally.reversed == 0 && accepted == 0 {
        judge_invoices(story, &canonical).await;
    }
}

/// Each hidden amount is counted once, at any height. A reversed one that is there again waits for
/// an operator.
async fn judge_unseen(story: &mut Story<'_>) {
    for place in 0..story.unseen.len() {
        let (address, address_id) =
            (story.unseen[place].address.clone(), story.unseen[place].address_id);
        let query = "select coalesce(sum(amount) filter (where state = 'settled' or state = 'reversed' and height is not null), 0)::text,
                    count(*) filter (where state in ('seen', 'final')),
                    coalesce(sum(amount) filter (where state = 'settled'), 0)
                      = (select coalesce(sum(case e.kind when 'reversal' then -e.amount else e.amount end), 0)
                         from ledger_entry e join deposit s on s.id = e.source where s.address_id = $1),
                    count(*) filter (where state = 'reversed')
             from deposit where address_id = $1";
        let query = sqlx::query_as(query).bind(address_id);
        let (counted, undone, is_booked, reversed): (String, i64, bool, i64) =
            query.fetch_one(&mut story.connection).await.unwrap();
        let arrived = story.hidden_at(&address).to_string();
        assert_eq!((counted, undone, is_booked), (arrived, 0, true), "{address}");
        assert!(story.rules.is_deep || reversed == 0, "{address}: nothing final was taken back");
    }
}

fn moved(transfer: &Transfer) -> bool {
    !matches!(&transfer.amount, TransferAmount::Units(units) if units.is_zero())
}

async fn judge_alerts(story: &mut Story<'_>) {
    let query = sqlx::query_scalar("select distinct kind from operator_alert");
    let kinds: Vec<String> = query.fetch_all(&mut story.connection).await.unwrap();
    let deep = ["deposit_reversed", "reversed_deposit_returned", "deposit_changed"];
    let expected: &[&str] = if story.rules.is_deep { &deep } else { &[] };
    for kind in kinds {
        assert!(expected.contains(&kind.as_str()), "{kind}");
    }
}

/// Each invoice received its payments on chain in its own token, and its status agrees.
async fn judge_invoices(story: &mut Story<'_>, canonical: &HashMap<String, Transfer>) {
    for payable in &story.payees {
        let own = canonical.values().filter(|transfer| {
            transfer.to == payable.address && transfer.asset != TransferAsset::Native
        });
        let received: u128 = own.map(worth).sum();
        let query =
            "select received::text, status, pay_amount <= credited from invoice where id = $1";
        let query = sqlx::query_as(query).bind(payable.invoice);
        let (stored, status, is_covered): (String, String, bool) =
            query.fetch_one(&mut story.connection).await.unwrap();
        assert_eq!(stored, received.to_string(), "{}", payable.payment_id);
        let is_due = story.due.contains_key(&payable.invoice);
        let expected: &[&str] = match (received, is_covered) {
            (_, true) => &["paid", "overpaid"],
            (_, false) if is_due => &["expired"],
            (0, false) => &["pending"],
            (_, false) => &["partial"],
        };
        assert!(expected.contains(&status.as_str()), "{status} with {received}");
    }
}
