//! Tables with many payments of one merchant, and the pages of the dashboard that read them.

use gateway::{app::Gateway, storage::merchant_hours};
use sqlx::{AssertSqlSafe, Executor, PgConnection};
use uuid::Uuid;

const FILL: &str = include_str!("grown.sql");

/// Rows to insert. `GATEWAY_TEST_ROWS` and `GATEWAY_TEST_DELIVERIES` change them.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub invoices: i64,
    /// Webhooks of each invoice.
    pub deliveries: i64,
}

/// One of each kind of row that has a page of its own.
pub struct Grown {
    payment: String,
    hash: String,
    address: String,
    event: String,
    resource: String,
}

/// Pages of an operator that list something.
pub const OPERATORS_PAGES: [&str; 9] = [
    "/operator",
    "/operator/merchants",
    "/operator/dead-letters",
    "/operator/deposits",
    "/operator/payouts",
    "/operator/currencies",
    "/operator/networks",
    "/operator/x402",
    "/operator/audit",
];

impl Size {
    /// This many, unless the environment names others.
    pub fn or_given(self) -> Self {
        Self {
            invoices: given("GATEWAY_TEST_ROWS", self.invoices),
            deliveries: given("GATEWAY_TEST_DELIVERIES", self.deliveries),
        }
    }
}

fn given(name: &str, default: i64) -> i64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

impl Grown {
    /// Fills the tables: three invoices in four are `ours`, the rest `theirs`. `payment` is one of
    /// ours that was created by the API.
    pub async fn fill(
        gateway: &Gateway,
        hand: &mut PgConnection,
        [ours, theirs]: [Uuid; 2],
        payment: String,
        size: Size,
    ) -> Self {
        // As in the programs: compiled just in time, the sum of one hour takes 0.5 s.
        hand.execute("set synchronous_commit = off; set jit = off").await.unwrap();
        for statement in FILL.split(";\n").filter(|statement| !statement.trim().is_empty()) {
            let statement = statement
                .replace("$1", &format!("'{ours}'"))
                .replace("$2", &format!("'{theirs}'"))
                .replace("$3", &size.invoices.to_string())
                .replace("$4", &size.deliveries.to_string());
            hand.execute(AssertSqlSafe(statement)).await.unwrap();
        }
        hand.execute("vacuum analyze").await.unwrap();
        // As the workers do all the time.
        while merchant_hours::sum_next(hand).await.unwrap() {}
        while gateway.seal_ledger().await.unwrap() > 0 {}
        Self::found(hand, payment).await
    }

    async fn found(hand: &mut PgConnection, payment: String) -> Self {
        let mut text = async |query: &'static str| -> String {
            sqlx::query_scalar(query).fetch_one(&mut *hand).await.unwrap()
        };
        Self {
            payment,
            hash: text("select tx_hash from deposit order by settled_at limit 1").await,
            address: text("select pay_address from invoice where order_id = 'grown-7'").await,
            event: text(
                "select event_id from delivery where state = 'dead' order by created_at limit 1",
            )
            .await,
            resource: text(
                "select resource_id from x402_resource r join merchant m on m.id = r.merchant_id
                 where deleted_at is null order by m.created_at limit 1",
            )
            .await,
        }
    }

    /// Words by which `gatewayctl find` knows one of the rows.
    pub fn names(&self) -> [&str; 5] {
        [&self.payment, "grown-12", &self.hash, &self.address, &self.event]
    }

    /// Pages of our merchant's owner: every list, with and without filters, and one row of each.
    pub fn owners_pages(&self) -> Vec<String> {
        let Self { payment, hash, address, event, resource } = self;
        vec![
            "/".to_owned(),
            "/payments".to_owned(),
            "/payments?status=cancelled".to_owned(),
            "/payments?status=paid".to_owned(),
            "/payments?status=overpaid".to_owned(),
            "/payments?network=bsc".to_owned(),
            "/payments?network=polygon&status=expired".to_owned(),
            "/payments?currency=usdtbsc@bsc&status=cancelled".to_owned(),
            "/payments?from=2001-01-01&to=2001-02-01".to_owned(),
            format!("/payments?q={payment}"),
            "/payments?q=grown-12".to_owned(),
            format!("/payments?q={hash}"),
            format!("/payments?q={address}"),
            "/payments?q=buyer50%40example.com".to_owned(),
            "/payments?q=120".to_owned(),
            "/payments?q=nothing+of+this".to_owned(),
            format!("/payments/{payment}"),
            "/events".to_owned(),
            "/events?state=dead".to_owned(),
            "/events?state=pending".to_owned(),
            "/events?type=wrong_token_received".to_owned(),
            "/events?type=invoice.expired&state=dead".to_owned(),
            "/events/resend".to_owned(),
            format!("/events/{event}"),
            "/balance".to_owned(),
            "/balance?currency=usdtbsc@bsc".to_owned(),
            "/balance?currency=eth@ethereum".to_owned(),
            "/developers".to_owned(),
            "/x402".to_owned(),
            format!("/x402/{resource}"),
            "/x402/settlements".to_owned(),
            "/x402/settlements?state=failed".to_owned(),
        ]
    }
}
