//! The ledger for operators: entries with their reasons, balances at a moment.

use chrono::{DateTime, Utc};

use crate::app::Gateway;
use crate::{
    accounting::balance::in_coins,
    asset::catalogue::Catalogue,
    storage::{
        StorageError,
        ledger_check::{self, Explained},
    },
};

/// An amount with its currency, as `code@network`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amount {
    pub coins: String,
    pub currency: String,
}

impl Gateway {
    /// The first thousand entries that have to do with an account, an invoice, a payout order or a
    /// transaction.
    pub async fn explain_ledger(
        &self,
        reference: &str,
        as_of: Option<DateTime<Utc>>,
    ) -> Result<Vec<(Explained, Amount)>, StorageError> {
        let mut connection = self.db.connection().await?;
        let entries = ledger_check::explain(&mut connection, reference, as_of).await?;
        let entries = entries.into_iter().map(|entry| {
            let amount = amount(&entry.amount, &entry.asset)?;
            Ok((entry, amount))
        });
        entries.collect()
    }

    /// The balances of an account, with the number of entries behind each.
    pub async fn ledger_balances(
        &self,
        account: &str,
        as_of: Option<DateTime<Utc>>,
    ) -> Result<Vec<(Amount, i64)>, StorageError> {
        let mut connection = self.db.connection().await?;
        let balances = ledger_check::balances(&mut connection, account, as_of).await?;
        let balances = balances.into_iter();
        balances.map(|one| Ok((amount(&one.units, &one.asset)?, one.entries))).collect()
    }
}

fn amount(units: &str, asset: &str) -> Result<Amount, StorageError> {
    let decimals = Catalogue::get().by_token_id(asset).map_or(0, |currency| currency.decimals);
    let coins = in_coins(units, decimals);
    let coins = coins
        .ok_or_else(|| StorageError::damaged("ledger_entry", "an amount is no whole number"))?;
    Ok(Amount { coins, currency: asset.to_owned() })
}
