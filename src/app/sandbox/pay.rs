//! The sandbox's pay button: a buyer's payment on the simulated chain. Production has no such
//! chain.

use super::simulate::{Deposit, PaidIn, Payee, SimulateError};
use crate::app::Gateway;
use crate::money::BaseUnits;

/// Amount that the button sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// All that remains to be sent.
    Rest,
    /// Half of that.
    Half,
    /// Twice the invoice's amount.
    Double,
}

#[derive(Debug, thiserror::Error)]
pub enum PaySimulatedError {
    #[error("no invoice with an address has this id")]
    NotFound,
    #[error(transparent)]
    Simulate(#[from] SimulateError),
}

impl Gateway {
    pub async fn pay_simulated(
        &self,
        payment_id: &str,
        share: Share,
    ) -> Result<(), PaySimulatedError> {
        let status = self.buyer_status(payment_id).await.map_err(SimulateError::from)?;
        let asset = status.and_then(|status| status.asset).ok_or(PaySimulatedError::NotFound)?;
        let rest = if asset.to_send == BaseUnits::ZERO { asset.due } else { asset.to_send };
        let amount = match share {
            Share::Rest => rest,
            Share::Half => BaseUnits::new(rest.get().div_ceil(2)),
            Share::Double => asset.due.saturating_add(asset.due),
        };
        let deposit = Deposit {
            payee: Payee::Invoice(payment_id.to_owned()),
            paid_in: PaidIn::default(),
            amount: amount.to_decimal(asset.decimals),
            txid: None,
            unconfirmed: false,
        };
        self.simulate_deposit(&deposit).await?;
        Ok(())
    }
}
