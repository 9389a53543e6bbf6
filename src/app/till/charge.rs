//! A charge: the cashier types an amount, and the device shows the invoice until he turns to the
//! next customer.

use std::sync::Arc;

use uuid::Uuid;

use super::{
    Keys,
    visit::{Desk, NotAtDesk},
};
use crate::app::{
    Gateway,
    invoice::{cancel::CancelError, select_currency::SelectError},
    link::order::{OrderError, accepted_for, inherited, of_link},
    merchant::admit::{BuyerBudget, NotAdmitted},
    operator::measure::count_transition,
};
use crate::{
    link::typed,
    storage::{StorageError, links, merchants, till_charges},
    till::keypad,
};

/// The keypad's form, as it was sent.
#[derive(Debug, Clone)]
pub struct ChargeForm {
    /// Names the form: a device makes one charge of it.
    pub key: Uuid,
    pub amount: String,
    /// The currency that the form showed, in lower case.
    pub currency: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ChargeError {
    #[error(transparent)]
    NotAtDesk(NotAtDesk),
    #[error("the till is switched off, or its merchant suspended")]
    Closed,
    #[error("the device shows another charge")]
    Shown,
    #[error("the form made another charge before")]
    Used,
    #[error("the price of the till is in another currency by now")]
    OtherCurrency,
    #[error("the charge is still open: cancel it first")]
    StillOpen,
    #[error("the device made too many charges in a minute")]
    TooMany,
    #[error(transparent)]
    Order(OrderError),
    #[error(transparent)]
    Select(#[from] SelectError),
    #[error(transparent)]
    Cancel(#[from] CancelError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<NotAtDesk> for ChargeError {
    fn from(error: NotAtDesk) -> Self {
        match error {
            NotAtDesk::Storage(error) => Self::Storage(error),
            other @ (NotAtDesk::NoTill | NotAtDesk::Unknown | NotAtDesk::Locked) => {
                Self::NotAtDesk(other)
            }
        }
    }
}

impl From<OrderError> for ChargeError {
    fn from(error: OrderError) -> Self {
        match error {
            OrderError::Storage(error) => Self::Storage(error),
            other @ (OrderError::NotFound
            | OrderError::Unusable(_)
            | OrderError::TooManyTries
            | OrderError::Full
            | OrderError::Amount(_)
            | OrderError::Words(_)
            | OrderError::TooSmall { .. }
            | OrderError::AllPaid
            | OrderError::Create(_)) => Self::Order(other),
        }
    }
}

impl Gateway {
    /// Makes the charge of a form, once: the same form sent again, after a lost answer or from the
    /// browser's history, changes nothing. If one currency is left, it is chosen at once.
    ///
    /// # Errors
    /// [`ChargeError::Shown`] and [`ChargeError::Used`] also for a form that was sent before with
    /// another amount: its cashier has to see that the first one counts.
    pub async fn charge_at_till(
        self: &Arc<Self>,
        link_id: &str,
        keys: &Keys,
        form: ChargeForm,
    ) -> Result<(), ChargeError> {
        let desk = self.desk(link_id, keys).await?;
        match self.admit_buyer(BuyerBudget::Action, &desk.device.device_id).await {
            Ok(()) => {}
            Err(NotAdmitted::Storage(error)) => return Err(error.into()),
            Err(
                NotAdmitted::TooManyRequests | NotAdmitted::UnknownKey | NotAdmitted::Suspended,
            ) => return Err(ChargeError::TooMany),
        }
        let turn = self.orders.turn(desk.link.id).await;
        let gateway = self.clone();
        let charging = async move { gateway.charge_in_turn(&desk, &form).await };
        let charged = turn.during(charging).await;
        let only = charged.unwrap_or(Err(ChargeError::Storage(StorageError::TimedOut)))?;
        if let Some((payment_id, token_id)) = only
            && let Err(error) = self.select_currency(&payment_id, &token_id).await
        {
            // The charge is made; its page offers the currency again.
            tracing::warn!(%error, payment_id, "the only currency of a charge was not chosen");
        }
        Ok(())
    }

    /// Returns the new invoice with its currency where there is one only.
    async fn charge_in_turn(
        &self,
        desk: &Desk,
        form: &ChargeForm,
    ) -> Result<Option<(String, String)>, ChargeError> {
        let market = self.market().await?;
        let mut tx = self.db.begin().await?;
        let link = links::lock(&mut tx, &desk.link.link_id).await?;
        let link = link.ok_or(NotAtDesk::NoTill)?;
        let device = till_charges::lock_device(&mut tx, desk.device.id).await?;
        let device = device.filter(|device| !device.is_revoked).ok_or(NotAtDesk::Unknown)?;
        let typed = keypad::finished(&form.amount);
        if let Some(made) = till_charges::price_of_made(&mut tx, desk.device.id, form.key).await? {
            let is_same = typed::amount(typed).is_ok_and(|amount| amount == made);
            return match device.shown {
                _ if is_same => Ok(None),
                Some(_) => Err(ChargeError::Shown),
                None => Err(ChargeError::Used),
            };
        }
        if device.shown.is_some() {
            return Err(ChargeError::Shown);
        }
        if form.currency != link.terms.price_currency.code() {
            return Err(ChargeError::OtherCurrency);
        }
        let merchant = merchants::by_id(&mut tx, link.merchant_id).await?;
        let merchant = merchant.filter(|merchant| link.active && merchant.suspended_at.is_none());
        let merchant = merchant.ok_or(ChargeError::Closed)?;
        let price = link.terms.amount(typed).map_err(OrderError::from)?;
        let accepted = merchant.accepted_tokens.as_deref();
        let accepted = accepted_for(&market, &link.terms, accepted, price)?;
        let quota = i64::from(merchant.open_invoices_max);
        let (open, now) = links::open_invoices(&mut tx, &link, quota).await?;
        if open >= quota {
            return Err(OrderError::Full.into());
        }
        let mut invoice = of_link(inherited(&merchant), &link, price, now);
        let only = match accepted.as_slice() {
            [token_id] => Some((invoice.view.payment_id.clone(), token_id.clone())),
            _ => None,
        };
        invoice.accepted_tokens = Some(accepted);
        self.open_draft(&mut tx, &invoice).await?;
        till_charges::keep(&mut tx, desk.device.id, form.key, invoice.id).await?;
        tx.commit().await.map_err(StorageError::from)?;
        count_transition(None, invoice.view.status);
        self.relay_wake.notify_one();
        Ok(only)
    }

    /// Chooses the currency in which the customer pays the charge that the device shows. The form
    /// of another charge chooses nothing: the choice is for good.
    pub async fn select_at_till(
        &self,
        link_id: &str,
        keys: &Keys,
        (payment_id, token_id): (&str, &str),
    ) -> Result<(), ChargeError> {
        let desk = self.desk(link_id, keys).await?;
        if desk.shown.as_deref() != Some(payment_id) {
            return Ok(());
        }
        Ok(self.select_currency(payment_id, token_id).await?)
    }

    /// Cancels a charge that the device shows, and shows it no more. One that it does not show,
    /// such as of a form from the browser's history, stays as it is.
    pub async fn cancel_at_till(
        &self,
        link_id: &str,
        keys: &Keys,
        payment_id: &str,
    ) -> Result<(), ChargeError> {
        let desk = self.desk(link_id, keys).await?;
        if desk.shown.as_deref() != Some(payment_id) {
            return Ok(());
        }
        self.cancel_invoice(payment_id).await?;
        self.hide_charge(&desk, payment_id).await
    }

    /// Turns to the next customer. A charge that can still be cancelled has to be: else he would
    /// pay into nothing that anybody looks at. One that is being confirmed goes on by itself.
    pub async fn next_at_till(
        &self,
        link_id: &str,
        keys: &Keys,
        payment_id: &str,
    ) -> Result<(), ChargeError> {
        let desk = self.desk(link_id, keys).await?;
        if desk.shown.as_deref() != Some(payment_id) {
            return Ok(());
        }
        let status = self.buyer_status(payment_id).await?;
        if status.is_some_and(|status| status.cancellable) {
            return Err(ChargeError::StillOpen);
        }
        self.hide_charge(&desk, payment_id).await
    }

    async fn hide_charge(&self, desk: &Desk, payment_id: &str) -> Result<(), ChargeError> {
        let mut connection = self.db.connection().await?;
        Ok(till_charges::hide(&mut connection, desk.device.id, payment_id).await?)
    }
}
