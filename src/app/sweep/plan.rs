//! Planning: the coins at each address, their worth, and the present cost of collecting them.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{SweepError, accounts, outputs};
use crate::{
    app::Gateway,
    asset::{Family, Network, address::match_key, catalogue::Catalogue},
    chain::pay::Payer,
    fail_point::fail_point,
    money::BaseUnits,
    storage::{
        StorageError,
        sweeps::{
            self, NewTransaction,
            candidates::{self, Place},
        },
    },
    sweep::{
        self, check, own,
        plan::{Plan, Transaction},
    },
};

/// Outputs, or accounts of each asset, that a plan looks at on a network.
pub(super) const LOOKED_MAX: i64 = 5_000;

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
    /// Outputs (`txid:n`) or addresses, where a person must do something about each.
    pub named: Vec<String>,
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
    TokenFee,
    Refused,
    OtherKey,
    Unproved,
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
            Self::TokenFee => "costs more than treasury.token_fee_max",
            Self::OtherKey => "is at an address of another key than the configured one",
            Self::Unproved => {
                "came by a transaction that cannot be proved, such as a peg-out of MWEB"
            }
            Self::Refused => "the token or the treasury's address refuses the transfer",
        }
    }
}

/// Transactions of one network, and the amounts that are left.
#[derive(Default)]
pub(super) struct Found {
    pub drafts: Vec<(Transaction, NewTransaction)>,
    skipped: BTreeMap<(String, Reason), Sum>,
}

#[derive(Default)]
struct Sum {
    places: usize,
    amount: BaseUnits,
    named: Vec<String>,
}

impl Found {
    /// Transactions that move this asset.
    pub fn planned(&self, asset: &str) -> usize {
        self.drafts.iter().filter(|(planned, _)| planned.asset == asset).count()
    }

    pub fn skip(&mut self, asset: &str, reason: Reason, amount: BaseUnits) {
        self.skip_all(asset, reason, (1, amount));
    }

    /// As [`Self::skip`], with the name of the place for a person.
    pub fn skip_named(&mut self, asset: &str, reason: Reason, (name, amount): (&str, BaseUnits)) {
        self.skip_all(asset, reason, (1, amount)).named.push(name.to_owned());
    }

    fn skip_all(
        &mut self,
        asset: &str,
        reason: Reason,
        (count, amount): (usize, BaseUnits),
    ) -> &mut Sum {
        let sum = self.skipped.entry((asset.to_owned(), reason)).or_default();
        sum.places += count;
        sum.amount = sum.amount.saturating_add(amount);
        sum
    }
}

impl Gateway {
    /// Plans the collection on these networks: the largest amounts, up to `limit` outputs, or
    /// accounts for each asset, on each of them. What is left out does not count. `None` as the
    /// plan if there is nothing.
    ///
    /// # Errors
    /// If a network has no address of the treasury or no node, or another plan is made at the same
    /// moment.
    pub async fn plan_sweep(
        &self,
        networks: &[Network],
        limit: usize,
    ) -> Result<(Option<Planned>, Vec<Skipped>), SweepError> {
        let (mut transactions, mut rows, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
        for network in networks {
            let found = self.plan_network(*network, limit).await?;
            let (planned, new): (Vec<_>, Vec<_>) = found.drafts.into_iter().unzip();
            transactions.extend(planned);
            rows.extend(new);
            skipped.extend(found.skipped.into_iter().map(|((asset, reason), sum)| {
                let Sum { places, amount, named } = sum;
                Skipped { network: *network, asset, reason, places, amount, named }
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

    async fn plan_network(&self, network: Network, limit: usize) -> Result<Found, SweepError> {
        let pinned = self.config.pinned(network)?;
        let payers = self.sweepers(network)?;
        let mut connection = self.db.connection().await?;
        let key = match_key(network.family(), &pinned.treasury);
        if candidates::is_deposit_address(&mut connection, network, &key).await? {
            return Err(SweepError::OwnAddress(network));
        }
        let highest = candidates::highest_index(&mut connection, network).await?;
        if let Some((whose, index)) = self.own_key(network, &pinned.treasury, highest) {
            return Err(SweepError::OwnKey { network, whose, index });
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

    /// The setting of ours whose key an address belongs to, and its index there.
    fn own_key(&self, network: Network, treasury: &str, highest: u32) -> Option<(String, u32)> {
        let family = network.family();
        let evm = |key| Some(key).filter(|_| family == Family::Evm).and_then(Option::as_ref);
        let accounts = [
            (format!("addresses.{}", family.name()), self.account_keys.get(&family)),
            (format!("payouts.accounts.{}", family.name()), self.payout_keys.get(&family)),
            ("payouts.accounts.gas".to_owned(), evm(&self.gas_key)),
            ("x402.account".to_owned(), evm(&self.x402_key)),
        ];
        let gas_payer = self.config.gas_payer().filter(|_| family == Family::Evm);
        if gas_payer.is_some_and(|own| match_key(family, own) == match_key(family, treasury)) {
            return Some(("treasury.gas_payer".to_owned(), 0));
        }
        accounts.into_iter().find_map(|(whose, key)| {
            own::index_of(key?, family, treasury, highest).map(|index| (whose, index))
        })
    }

    /// Returns true if the machine that signs has the key of an address, as far as the public keys
    /// here tell: one of an earlier seed would have it refuse the whole plan.
    pub(super) fn has_key_of(&self, network: Network, place: &Place) -> bool {
        let family = network.family();
        let index = u32::try_from(place.index).ok();
        let own = index.and_then(|index| self.account_keys.get(&family)?.address(index).ok());
        own.is_some_and(|own| match_key(family, &own) == match_key(family, &place.address))
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
