//! The sandbox for a merchant's own program: payments to his own invoices and orders, and the end
//! of a window without waiting. A remote CI needs no shell.

use uuid::Uuid;

use super::simulate::{Deposit, Payee, SimulateError, Simulated};
use crate::app::Gateway;
use crate::{
    asset::{
        Family, Network,
        address::{self, match_key},
    },
    invoice::payment::Payment,
    storage::{self, StorageError, addresses, invoices, simulation, timers},
};

#[derive(Debug, thiserror::Error)]
pub enum OwnDepositError {
    #[error("the merchant has no such payment or address")]
    NotFound,
    #[error(transparent)]
    Simulate(#[from] SimulateError),
}

impl Gateway {
    /// Pays an invoice or an address of the merchant. The same transaction sent once more, without
    /// `unconfirmed`, is mined and confirmed.
    pub async fn simulate_own_deposit(
        &self,
        merchant_id: Uuid,
        deposit: &Deposit,
    ) -> Result<Simulated, OwnDepositError> {
        if self.owner_of(&deposit.payee).await? != Some(merchant_id) {
            return Err(OwnDepositError::NotFound);
        }
        let done = self.simulate_deposit(deposit).await?;
        if done.new || deposit.unconfirmed || done.height.is_some() {
            return Ok(done);
        }
        // Transactions of others keep waiting, whatever their id is.
        let mut connection = self.db.connection().await.map_err(SimulateError::from)?;
        let payees = simulation::payees(&mut connection, &done.txid).await;
        let payees = payees.map_err(SimulateError::from)?;
        drop(connection);
        for (network, key) in payees {
            if self.owner_at(network, |_| key.clone()).await? != Some(merchant_id) {
                return Ok(done);
            }
        }
        Ok(self.simulate_confirm(&done.txid).await?)
    }

    async fn owner_of(&self, payee: &Payee) -> Result<Option<Uuid>, SimulateError> {
        match payee {
            Payee::Invoice(payment_id) => {
                let mut connection = self.db.connection().await?;
                let invoice = invoices::by_payment_id(&mut connection, payment_id).await?;
                Ok(invoice.map(|invoice| invoice.merchant_id))
            }
            Payee::Address { network, address } => {
                let network = *network;
                let valid = address::validate(network, address).map_err(|error| {
                    SimulateError::Address { network, reason: error.to_string() }
                })?;
                self.owner_at(network, |family| match_key(family, &valid)).await
            }
        }
    }

    /// `key` spells the address in each family that is valid on the network.
    async fn owner_at(
        &self,
        network: Network,
        key: impl Fn(Family) -> String,
    ) -> Result<Option<Uuid>, SimulateError> {
        let families = network.address_families();
        let names: Vec<_> = families.iter().map(|family| family.name().to_owned()).collect();
        let keys: Vec<_> = families.iter().map(|family| key(*family)).collect();
        let mut connection = self.db.connection().await?;
        Ok(addresses::merchant_of(&mut connection, &names, &keys).await?)
    }

    /// Ends the window of a merchant's open invoice now; the ordinary timer lets it expire, unless
    /// a payment was in time. An invoice that has ended stays as it is. `None` if the merchant has
    /// no such invoice.
    pub async fn simulate_expiry(
        &self,
        merchant_id: Uuid,
        payment_id: &str,
    ) -> Result<Option<Payment>, StorageError> {
        let mut tx = self.db.begin().await?;
        let found = invoices::by_payment_id(&mut tx, payment_id).await?;
        let Some(found) = found.filter(|invoice| invoice.merchant_id == merchant_id) else {
            return Ok(None);
        };
        let Some(mut invoice) = invoices::lock(&mut tx, found.id).await? else { return Ok(None) };
        let now = storage::now(&mut tx).await?;
        if !invoice.view.status.is_terminal() && invoice.view.deadline > now {
            invoice.view.updated_at = invoices::end_window(&mut tx, invoice.id, now).await?;
            invoice.view.deadline = now;
            timers::set(&mut tx, timers::INVOICE_DEADLINE, invoice.id, now).await?;
        }
        tx.commit().await?;
        Ok(Some(Payment::render(&invoice.view, &self.config.checkout_url)))
    }
}
