//! Payments of an invoice that did not simply count, for its buyer.

use chrono::{DateTime, Utc};

use crate::app::Gateway;
use crate::{
    asset::{Network, catalogue::Catalogue, explorer},
    deposit::State,
    invoice::{
        deadline::is_on_time,
        happening::{self, Facts, Happening, reference},
    },
    storage::{
        deposits::{DepositRow, unmined},
        invoices::Invoice,
    },
};

/// Most of them that a page shows: a stranger's dust must not fill it.
const HAPPENED_MAX: usize = 10;
/// Most of unknown tokens, which anybody creates for nothing.
const UNKNOWN_MAX: usize = 2;

/// One payment and what became of it.
#[derive(Debug, Clone)]
pub struct Happened {
    pub kind: Happening,
    pub tx_hash: String,
    pub network: Network,
    /// Of a currency of the catalogue.
    pub symbol: Option<&'static str>,
    /// In whole units; only of a currency of the catalogue, for others name their own decimals.
    pub amount: Option<String>,
    pub seen_at: DateTime<Utc>,
    /// The transaction that took its place.
    pub replaced_by: Option<String>,
    pub explorer_url: Option<String>,
    /// The text that the buyer gives the merchant.
    pub reference: String,
}

/// Returns true if the reasons of [`unmined::of_invoice`] are needed.
pub(super) fn has_unmined(known: &[DepositRow]) -> bool {
    let waits = |deposit: &DepositRow| matches!(deposit.state, State::Seen | State::Withdrawn);
    known.iter().any(|deposit| waits(deposit) && deposit.height.is_none())
}

impl Gateway {
    /// The buyer's own payments first, in the order in which they were seen.
    pub(super) fn happened(
        &self,
        invoice: &Invoice,
        known: &[DepositRow],
        unmined: &[unmined::Row],
    ) -> Vec<Happened> {
        let one = |deposit: &DepositRow| self.happened_to(invoice, known, unmined, deposit);
        let mut all: Vec<_> = known.iter().filter_map(one).collect();
        all.sort_by_key(|one| one.kind == Happening::UnknownToken);
        let unknown = |one: &Happened| one.kind == Happening::UnknownToken;
        let certain = all.iter().filter(|one| !unknown(one)).count();
        all.truncate(HAPPENED_MAX.min(certain.saturating_add(UNKNOWN_MAX)));
        all
    }

    fn happened_to(
        &self,
        invoice: &Invoice,
        known: &[DepositRow],
        unmined: &[unmined::Row],
        deposit: &DepositRow,
    ) -> Option<Happened> {
        let reason = unmined.iter().find(|row| row.id == deposit.id);
        let replaced_by = reason.and_then(|row| row.replaced_by.clone());
        let accepted_again = known.iter().any(|other| other.replaces == Some(deposit.id));
        let currency = deposit.token_id.as_deref().and_then(|id| Catalogue::get().by_token_id(id));
        let deadline = invoice.view.deadline;
        let facts = Facts {
            state: deposit.state,
            booked_as: deposit.booked_as,
            own_network: invoice.network() == Some(deposit.network),
            own_token: deposit.token_id == invoice.token_id,
            known_token: currency.is_some() && deposit.amount.is_some(),
            on_time: is_on_time(deadline, deposit.first_seen_at, deposit.mined_at),
            in_block: deposit.height.is_some(),
            left_block: reason.is_some_and(|row| row.left_block),
            replaced: replaced_by.is_some() || accepted_again,
            open: !invoice.view.status.is_terminal(),
        };
        let kind = happening::happening(&facts)?;
        let amount = currency
            .zip(deposit.amount)
            .map(|(currency, amount)| amount.to_decimal(u32::from(currency.decimals)));
        Some(Happened {
            kind,
            network: deposit.network,
            symbol: currency.map(|currency| currency.symbol),
            amount,
            seen_at: deposit.first_seen_at,
            replaced_by: replaced_by.filter(|_| kind == Happening::Replaced),
            explorer_url: self.explorer_url(deposit),
            reference: reference(&invoice.view.payment_id, &deposit.tx_hash),
            tx_hash: deposit.tx_hash.clone(),
        })
    }

    /// Where a transaction can be looked up; `None` on a network that no public explorer shows.
    pub(super) fn explorer_url(&self, deposit: &DepositRow) -> Option<String> {
        let linked = !deposit.found_by_balance && self.has_explorer(deposit.network);
        linked.then(|| explorer::transaction_url(deposit.network, &deposit.tx_hash))
    }
}
