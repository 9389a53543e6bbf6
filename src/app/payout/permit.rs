//! The permission to sign: holds, the stop switch and the suspension of merchants, decided here for
//! every signature.

use crate::{
    payout::{hold::Hold, payment::Purpose},
    storage::{
        PgConnection, StorageError,
        payouts::{
            PayoutOrder,
            safety::{self, Stop},
        },
    },
};

/// The permission to sign: now, later or not at all.
pub(super) enum Allowed<T> {
    Now(T),
    /// By itself, once this has passed.
    Later(String),
    /// It is held, or has gone on meanwhile.
    No,
}

/// What is to be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signing {
    /// A payment from the order's address.
    Payment,
    /// Gas for the order's address.
    Gas,
    /// A higher fee for a payment with this purpose that was sent already.
    Again(Purpose),
}

impl Signing {
    const fn is_forbidden_by(self, hold: &Hold) -> bool {
        match self {
            Self::Payment => true,
            // Gas ends the hold that waits for it.
            Self::Gas => !hold.ends_by_itself(),
            // A held order's gas may go on: the gas of all other orders waits behind it.
            Self::Again(purpose) => !matches!(purpose, Purpose::Gas),
        }
    }
}

/// Returns whether a hold of the order forbids the signature.
pub(super) fn is_held(order: &PayoutOrder, signing: Signing) -> bool {
    order.held.as_ref().is_some_and(|hold| signing.is_forbidden_by(hold))
}

/// Decides whether anything may be signed for an order now. Limits are not asked.
pub(super) async fn permit(
    connection: &mut PgConnection,
    order: &PayoutOrder,
    signing: Signing,
) -> Result<Allowed<()>, StorageError> {
    if is_held(order, signing) {
        return Ok(Allowed::No);
    }
    let network = order.currency.network;
    match safety::stopped(connection, network.name(), order.merchant_id).await? {
        None => Ok(Allowed::Now(())),
        Some(Stop::Switch { reason }) => {
            Ok(Allowed::Later(format!("payouts are stopped on {network}: {reason}")))
        }
        Some(Stop::MerchantSuspended) => match signing {
            Signing::Payment | Signing::Gas => {
                Ok(Allowed::Later("its merchant is suspended".to_owned()))
            }
            // It may still be helped into a block.
            Signing::Again(_) => Ok(Allowed::Now(())),
        },
    }
}
