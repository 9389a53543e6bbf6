//! Figures of a merchant, and the things that ask for attention.

use uuid::Uuid;

use crate::app::Gateway;
use crate::{
    merchant::takings::{self, FiatTakings, Taking, TokenTakings},
    storage::{
        StorageError,
        endpoints::{self, EndpointRow, Latency},
        merchant_hours::{self, DayRow},
        overview::{self, Attention, OddDeposit},
    },
    webhook::event::EventKind,
};

/// Late and foreign deposits that the first page names one by one.
const ODD_MAX: i64 = 6;

/// The first page of a merchant.
#[derive(Debug)]
pub struct Overview {
    pub fiats: Vec<FiatTakings>,
    pub tokens: Vec<TokenTakings>,
    pub ends: Ends,
    pub attention: Attention,
    pub odd_deposits: Vec<OddDeposit>,
    pub endpoints: Vec<EndpointRow>,
    pub latency: Option<Latency>,
}

/// Numbers of invoices that were created and ended within thirty days.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ends {
    pub created: i64,
    pub paid: i64,
    pub expired: i64,
    pub cancelled: i64,
}

impl Ends {
    pub const fn ended(&self) -> i64 {
        self.paid.saturating_add(self.expired).saturating_add(self.cancelled)
    }
}

impl Gateway {
    pub async fn overview(&self, merchant_id: Uuid) -> Result<Overview, StorageError> {
        let mut connection = self.db.connection().await?;
        let span = merchant_hours::span(&mut connection).await?;
        let days = merchant_hours::days(&mut connection, merchant_id, &span).await?;
        let takings = days.into_iter().map(taking).collect::<Result<Vec<_>, _>>()?;
        let mut ends = Ends::default();
        for row in merchant_hours::events(&mut connection, merchant_id, &span).await? {
            match row.kind.parse() {
                Ok(EventKind::InvoiceCreated) => ends.created = row.count,
                Ok(EventKind::InvoicePaid) => ends.paid = row.count,
                Ok(EventKind::InvoiceExpired) => ends.expired = row.count,
                Ok(EventKind::InvoiceCancelled) => ends.cancelled = row.count,
                _ => {}
            }
        }
        Ok(Overview {
            fiats: takings::by_fiat(span.today, &takings),
            tokens: takings::by_token(span.today, &takings),
            ends,
            attention: overview::attention(&mut connection, merchant_id).await?,
            odd_deposits: overview::odd_deposits(&mut connection, merchant_id, ODD_MAX).await?,
            endpoints: endpoints::health(&mut connection, merchant_id).await?,
            latency: endpoints::latency(&mut connection, merchant_id).await?,
        })
    }

    /// Sums all hours anew, for somebody who wrote rows of the past, as the sandbox's history does.
    pub async fn sum_hours_again(&self) -> Result<(), StorageError> {
        let mut connection = self.db.connection().await?;
        merchant_hours::forget_all(&mut connection).await
    }

    /// The receivers of a merchant's webhooks, the one used last first.
    pub async fn endpoints(&self, merchant_id: Uuid) -> Result<Vec<EndpointRow>, StorageError> {
        let mut connection = self.db.connection().await?;
        endpoints::health(&mut connection, merchant_id).await
    }
}

fn taking(row: DayRow) -> Result<Taking, StorageError> {
    let damaged = || StorageError::damaged("merchant_hour_taking", "a sum is no number");
    Ok(Taking {
        day: row.day,
        token_id: row.token_id,
        fiat: row.fiat,
        units: row.units.parse().map_err(|_| damaged())?,
        value: row.value.parse().map_err(|_| damaged())?,
    })
}
