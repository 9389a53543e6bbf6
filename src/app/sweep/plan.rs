//! Planning: the coins at each address, their worth, and the present cost of collecting them.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{SweepError, accounts, outputs};
use crate::{
    app::Gateway,
    asset::{Network, address::match_key, catalogue::Catalogue},
    chain::pay::Payer,
    fail_point::fail_point,
    money::BaseUnits,
    storage::{
        StorageError,
        sweeps::{self, NewTransaction, candidates},
    },
    sweep::{
        self, check,
        plan::{Plan, Transaction},
    },
};

/// A plan that is stored, and the amounts that it leaves where they are.
#[derive(Debug, Clone)]
pub struct Planned {
    pub plan: Plan,
    /// The file.
    pub text: String,
    pub skipped: Vec<Skipped>,
}

/// Amounts of one asset that are not collected for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub network: Network,
    /// `code@network`.
    pub asset: String,
    pub reason: Reason,
    /// Addresses or outputs; not known of invoices that are open.
    pub places: usize,
    pub amount: BaseUnits,
}

/// Reason why something stays where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    Dear,
    NoGas,
    NoRate,
    Moved,
    Busy,
    Gone,
    Open,
    FeeRate,
    Refused,
}

impl Reason {
    /// The reason as people read it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Dear => "costs more than treasury.fee_percent_max",
            Self::NoGas => "has no coins for gas at its address",
            Self::NoRate => "has no fresh rate to compare the cost with",
            Self::Moved => "the chain has less than the rows: gatewayctl balances differences",
            Self::Busy => "another transaction of its address is under way",
            Self::Gone => "is spent, or its block is gone",
            Self::Open => "its invoice is open or still watched",
            Self::FeeRate => "the network asks for more than chains.*.fee_rate_max",
            Self::Refused => "the token or the treasury's address refuses the transfer",
        }
    }
}

/// Transactions of one network, and the amounts that are left.
#[derive(Default)]
pub(super) struct Found {
    pub drafts: Vec<(Transaction, NewTransaction)>,
    skipped: BTreeMap<(String, Reason), (usize, BaseUnits)>,
}

impl Found {
    pub fn skip(&mut self, asset: &str, reason: Reason, amount: BaseUnits) {
        self.skip_all(asset, reason, (1, amount));
    }

    fn skip_all(&mut self, asset: &str, reason: Reason, (count, amount): (usize, BaseUnits)) {
        let sum = self.skipped.entry((asset.to_owned(), reason)).or_default();
        *sum = (sum.0 + count, sum.1.saturating_add(amount));
    }
}

impl Gateway {
    /// Plans the collection on these networks, up to `limit` outputs, or accounts for each asset,
    /// on each of them. `None` as the plan if there is nothing.
    ///
    /// # Errors
    /// If a network has no address of the treasury or no node, or another plan is made at the same
    /// moment.
    pub async fn plan_sweep(
        &self,
        networks: &[Network],
        limit: i64,
    ) -> Result<(Option<Planned>, Vec<Skipped>), SweepError> {
        let (mut transactions, mut rows, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
        for network in networks {
            let found = self.plan_network(*network, limit).await?;
            let (planned, new): (Vec<_>, Vec<_>) = found.drafts.into_iter().unzip();
            transactions.extend(planned);
            rows.extend(new);
            skipped.extend(found.skipped.into_iter().map(|((asset, reason), (places, amount))| {
                Skipped { network: *network, asset, reason, places, amount }
            }));
        }
        if transactions.is_empty() {
            return Ok((None, skipped));
        }
        let plan = Plan::new(sweep::plan_id(), transactions);
        // By the rules of the machine that signs, as far as they are the same here.
        check::check(&plan, |network| self.config.pinned(network).ok())?;
        let text = plan.write()?;
        self.store_sweep(&plan, &text, &rows).await?;
        Ok((Some(Planned { plan, text, skipped: skipped.clone() }), skipped))
    }

    async fn plan_network(&self, network: Network, limit: i64) -> Result<Found, SweepError> {
        let pinned = self.config.pinned(network)?;
        let payers = self.sweepers(network)?;
        let mut connection = self.db.connection().await?;
        let key = match_key(network.family(), &pinned.treasury);
        if candidates::is_deposit_address(&mut connection, network, &key).await? {
            return Err(SweepError::OwnAddress(network));
        }
        let kept = candidates::kept_back(&mut connection, network).await?;
        drop(connection);
        let mut found = match &payers.payer {
            Payer::Utxo(payer) => outputs::plan(self, &pinned, (network, payer), limit).await?,
            Payer::Evm(_) => accounts::plan(self, &pinned, (network, &payers), limit).await?,
            Payer::Simulated(_) => return Err(SweepError::NoNode(network)),
        };
        for (asset, amount) in kept {
            found.skip_all(&asset, Reason::Open, (0, amount));
        }
        Ok(found)
    }

    async fn store_sweep(
        &self,
        plan: &Plan,
        text: &str,
        rows: &[NewTransaction],
    ) -> Result<(), SweepError> {
        let mut tx = self.db.begin().await?;
        match sweeps::insert(&mut tx, Uuid::now_v7(), (&plan.id, text), rows).await {
            Err(error) if sweeps::TAKEN.iter().any(|name| error.is_constraint(name)) => {
                return Err(SweepError::Taken);
            }
            other => other?,
        }
        tx.commit().await.map_err(StorageError::from)?;
        fail_point("sweep.planned");
        Ok(())
    }

    /// USD for a whole coin, if a provider told it of late.
    pub(super) async fn sweep_price(
        &self,
        token_id: &str,
    ) -> Result<Option<rust_decimal::Decimal>, StorageError> {
        let market = self.market().await?;
        let currency = Catalogue::get().by_token_id(token_id);
        let rate = currency
            .and_then(|currency| market.fresh_rate(currency.symbol, crate::asset::Fiat::Usd).ok());
        Ok(rate.map(|rate| rate.price))
    }
}
