//! A link as its visitors see it: with the currencies that an amount leaves.

use crate::app::{
    Gateway,
    invoice::currency_choices::{Choice, Standing, judge},
    market::Market,
};
use crate::{
    invoice::Status,
    link::{self, LinkKind, terms::Terms},
    money::Price,
    storage::{
        StorageError,
        links::{self, Link},
        merchants,
    },
};

/// The state of a link for visitors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    Usable,
    /// Switched off, or its merchant is suspended.
    Inactive,
    /// A single-use link that was paid.
    Used,
}

/// A link's page.
#[derive(Debug)]
pub struct LinkVisit {
    pub link: Link,
    pub state: LinkState,
    /// Currencies for the amount that the page shows: the price, the visitor's or the proposed one;
    /// where there is none yet, the largest.
    pub choices: Vec<Choice>,
    /// Number of currencies that each suggested amount leaves.
    pub suggestions: Vec<(Price, usize)>,
}

impl Gateway {
    /// The link of `link_id`, with the currencies for `amount` if its price is open. `None` if
    /// there is no such link, or it is a till, whose invoices its devices alone create.
    pub async fn visit_link(
        &self,
        link_id: &str,
        amount: Option<Price>,
    ) -> Result<Option<LinkVisit>, StorageError> {
        if !link::is_id(link_id) {
            return Ok(None);
        }
        let market = self.market().await?;
        let mut connection = self.db.connection().await?;
        let link = links::by_link_id(&mut connection, link_id).await?;
        let Some(link) = link.filter(|link| link.terms.kind != LinkKind::Pos) else {
            return Ok(None);
        };
        let merchant = merchants::by_id(&mut connection, link.merchant_id).await?;
        let occupant = if link.terms.single_use {
            links::occupant(&mut connection, link.id).await?
        } else {
            None
        };
        drop(connection);
        let suspended = merchant.as_ref().is_none_or(|merchant| merchant.suspended_at.is_some());
        let paid = |(_, status): (_, Status)| status.is_terminal();
        let state = if occupant.is_some_and(paid) {
            LinkState::Used
        } else if !link.active || suspended {
            LinkState::Inactive
        } else {
            LinkState::Usable
        };
        let accepted = merchant.and_then(|merchant| merchant.accepted_tokens);
        let lists = [accepted.as_deref(), link.terms.accepted.as_deref()];
        let terms = &link.terms;
        let shown = match terms.price_amount {
            Some(price) if !terms.is_open() => price,
            proposed => amount.or(proposed).unwrap_or_else(|| terms.most()),
        };
        let choices = choices(&market, lists, terms, shown);
        let left = |amount: &Price| {
            let choices = self::choices(&market, lists, terms, *amount);
            choices.iter().filter(|choice| choice.standing == Standing::Eligible).count()
        };
        let suggestions = terms.suggested_amounts.iter().map(|one| (*one, left(one))).collect();
        Ok(Some(LinkVisit { state, choices, suggestions, link }))
    }
}

/// The currencies on offer that all lists accept, each with its standing for this amount.
fn choices(
    market: &Market,
    lists: [Option<&[String]>; 2],
    terms: &Terms,
    amount: Price,
) -> Vec<Choice> {
    let offers = market.offers().iter().filter(|offer| {
        let token_id = offer.currency.token_id();
        lists.iter().all(|list| list.is_none_or(|tokens| tokens.contains(&token_id)))
    });
    let choice = offers.map(|offer| {
        let (estimate, standing) = judge(market, offer, amount, terms.price_currency);
        Choice { currency: offer.currency, estimate, min_usd: Some(offer.min_usd), standing }
    });
    choice.collect()
}
