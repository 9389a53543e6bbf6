//! A subscriber's own page: opening the invoice of the next cycle.

use crate::app::{
    Gateway,
    link::{
        order::{OrderError, accepted_for, inherited},
        subscribe::of_subscription,
    },
    operator::measure::count_transition,
};
use crate::{
    storage::{
        self, StorageError, links, merchants,
        subscriptions::{self, Subscription},
    },
    subscription::Token,
};

/// A subscription as its subscriber sees it.
#[derive(Debug)]
pub struct RenewalVisit {
    pub subscription: Subscription,
    /// The title of its link.
    pub title: String,
}

/// Reason why a renewal opens no invoice.
#[derive(Debug, thiserror::Error)]
pub enum RenewError {
    #[error("there is no such subscription")]
    NotFound,
    #[error("the subscription is over, or its merchant takes no payments")]
    Over,
    #[error(transparent)]
    Order(#[from] OrderError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Gateway {
    /// The subscription of a token. It changes nothing: mail programs open links by themselves.
    pub async fn visit_renewal(&self, token: &str) -> Result<Option<RenewalVisit>, StorageError> {
        let Some(token) = Token::parse(token) else { return Ok(None) };
        let mut connection = self.db.connection().await?;
        let found = subscriptions::by_token(&mut connection, &token.sha256()).await?;
        let Some(subscription) = found else { return Ok(None) };
        let link = links::by_link_id(&mut connection, &subscription.link_id).await?;
        let title = link.map(|link| link.terms.title).unwrap_or_default();
        Ok(Some(RenewalVisit { subscription, title }))
    }

    /// Opens the next cycle's draft, or finds the invoice that is open already. Returns its
    /// `payment_id`.
    pub async fn renew(&self, token: &str) -> Result<String, RenewError> {
        let token = Token::parse(token).ok_or(RenewError::NotFound)?;
        let market = self.market().await?;
        let mut tx = self.db.begin().await?;
        let subscription = subscriptions::lock_by_token(&mut tx, &token.sha256()).await?;
        let subscription = subscription.ok_or(RenewError::NotFound)?;
        if !subscription.rules.is_payable() {
            return Err(RenewError::Over);
        }
        if let Some(open) = subscriptions::open_invoice(&mut tx, subscription.id).await? {
            return Ok(open);
        }
        let merchant = merchants::by_id(&mut tx, subscription.merchant_id).await?;
        let merchant = merchant.filter(|merchant| merchant.suspended_at.is_none());
        let merchant = merchant.ok_or(RenewError::Over)?;
        let link = links::by_link_id(&mut tx, &subscription.link_id).await?;
        let link = link.ok_or(RenewError::NotFound)?;
        let accepted = merchant.accepted_tokens.as_deref();
        let price = subscription.price_amount;
        let accepted = accepted_for(&market, &link.terms, accepted, price)?;
        let now = storage::now(&mut tx).await?;
        let mut invoice = of_subscription(inherited(&merchant), &link, &subscription, now);
        invoice.accepted_tokens = Some(accepted);
        self.open_draft(&mut tx, &invoice).await?;
        subscriptions::set_opened(&mut tx, subscription.id, invoice.id).await?;
        tx.commit().await.map_err(StorageError::from)?;
        count_transition(None, invoice.view.status);
        self.relay_wake.notify_one();
        Ok(invoice.view.payment_id)
    }
}
