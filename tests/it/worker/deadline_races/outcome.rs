//! Outcome of the races.

use support::shop::Shop;
use uuid::Uuid;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Paid if the deposit was seen or mined by the deadline, and expired if not.
    TheRow,
    /// In time, but the deadline could be decided before the deposit was seen.
    WhoeverIsFirst,
}

#[derive(Debug, sqlx::FromRow)]
struct Outcome {
    status: String,
    is_in_time: bool,
    is_credited: bool,
    events: Vec<String>,
    booked: Vec<String>,
    timers: i64,
}

impl Outcome {
    /// Paid or expired, and reported, booked and credited accordingly, once.
    fn is_paid(&self) -> bool {
        let is_paid = self.status == "paid";
        let (status, events, booked) = if is_paid {
            ("paid", ["finished"].as_slice(), "deposit")
        } else {
            ("expired", ["expired", "late_deposit_received"].as_slice(), "late_deposit")
        };
        assert_eq!((self.status.as_str(), self.is_credited), (status, is_paid), "{self:?}");
        assert_eq!(self.events, events, "{self:?}");
        assert_eq!(self.booked, [booked], "{self:?}");
        assert_eq!(self.timers, 0, "{self:?}");
        is_paid
    }
}

/// Checks each; returns the number of paid ones.
pub async fn check(shop: &Shop, rows: &[Uuid], rule: Rule) -> usize {
    let mut connection = shop.stack.gateway.db.connection().await.unwrap();
    let query = sqlx::query_as(
        "select status, credited = pay_amount as is_credited,
                (select bool_or(first_seen_at <= deadline_at or mined_at <= deadline_at)
                 from deposit where invoice_id = invoice.id) as is_in_time,
                array(select kind from delivery where invoice_id = invoice.id order by kind) as events,
                array(select kind from ledger_entry where source = invoice.id
                      or source in (select id from deposit where invoice_id = invoice.id)) as booked,
                (select count(*) from timer where ref = invoice.id) as timers
         from invoice where id = any ($1)",
    );
    let outcomes: Vec<Outcome> = query.bind(rows).fetch_all(&mut *connection).await.unwrap();
    assert_eq!(outcomes.len(), rows.len());
    for outcome in &outcomes {
        let is_paid = outcome.is_paid();
        if rule == Rule::TheRow || !outcome.is_in_time {
            assert_eq!(is_paid, outcome.is_in_time, "{outcome:?}");
        }
    }
    outcomes.iter().filter(|outcome| outcome.is_paid()).count()
}
