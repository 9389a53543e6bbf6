//! The statement of a merchant: what came to his accounts in the books, and what left them.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::app::Gateway;
use crate::{
    asset::catalogue::{Catalogue, Currency},
    ledger::{Account, EntryKind},
    storage::{
        StorageError,
        statement::{self, StatementRow},
    },
};

/// The parts of a merchant's balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Available,
    Late,
    Foreign,
}

impl Part {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Late => "late",
            Self::Foreign => "foreign",
        }
    }
}

/// One movement, in whole coins with a sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Movement {
    pub id: i64,
    pub at: DateTime<Utc>,
    pub kind: EntryKind,
    pub part: Part,
    pub amount: String,
    pub currency: &'static str,
    pub network: &'static str,
    pub payment_id: Option<String>,
    pub order_id: Option<String>,
}

impl Gateway {
    /// The newest 26 movements before the entry `before`, of one currency or of all.
    pub async fn statement(
        &self,
        merchant_id: Uuid,
        currency: Option<&Currency>,
        before: Option<i64>,
    ) -> Result<Vec<Movement>, StorageError> {
        let mut connection = self.db.connection().await?;
        let asset = currency.map(Currency::token_id);
        let before = before.unwrap_or(i64::MAX);
        let rows = statement::page(&mut connection, merchant_id, asset.as_deref(), before).await?;
        rows.into_iter().map(|row| movement(merchant_id, row)).collect()
    }
}

fn movement(merchant_id: Uuid, row: StatementRow) -> Result<Movement, StorageError> {
    let currency = Catalogue::get().by_token_id(&row.asset);
    let currency =
        currency.ok_or_else(|| StorageError::damaged("ledger_entry", "an unknown currency"))?;
    let part = |account: &str| {
        [
            (Account::Merchant(merchant_id), Part::Available),
            (Account::Late(merchant_id), Part::Late),
            (Account::Foreign(merchant_id), Part::Foreign),
        ]
        .into_iter()
        .find_map(|(known, part)| (known.to_string() == account).then_some(part))
    };
    let (sign, part) = match (part(&row.credit), part(&row.debit)) {
        (Some(part), _) => ("+", part),
        (None, Some(part)) => ("−", part),
        (None, None) => return Err(StorageError::damaged("ledger_entry", "of another merchant")),
    };
    let coins = row.amount.to_decimal(u32::from(currency.decimals));
    Ok(Movement {
        id: row.id,
        at: row.created_at,
        kind: row.kind,
        part,
        amount: format!("{sign}{coins}"),
        currency: currency.symbol,
        network: currency.network.title(),
        payment_id: row.payment_id,
        order_id: row.order_id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::BaseUnits;

    #[test]
    fn an_entry_is_signed_by_its_side() {
        let id = Uuid::from_u128(7);
        let row = |debit: String, credit: String| StatementRow {
            id: 1,
            kind: EntryKind::Deposit,
            asset: "usdtmatic@polygon".into(),
            debit,
            credit,
            amount: BaseUnits::new(1_500_000),
            created_at: DateTime::UNIX_EPOCH,
            payment_id: None,
            order_id: None,
        };
        let (own, late) = (Account::Merchant(id).to_string(), Account::Late(id).to_string());
        let made = movement(id, row("custody:polygon".into(), own.clone())).unwrap();
        assert_eq!((made.amount.as_str(), made.part), ("+1.5", Part::Available));
        let made = movement(id, row(late, "treasury".into())).unwrap();
        assert_eq!((made.amount.as_str(), made.part), ("−1.5", Part::Late));
        assert!(movement(Uuid::nil(), row("treasury".into(), own)).is_err());
    }
}
