//! Bodies of the sandbox's requests, and what a simulated deposit is answered with.

use gateway::{
    app::sandbox::simulate::{Deposit, PaidIn, Payee, SimulateError, Simulated},
    asset::Network,
    invoice::schema,
    money::{AmountError, BaseUnits},
    payout::schema::WholeCoins,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    body::{Members, required},
    error::ApiError,
};

const ID_CHARS_MAX: usize = 255;
const ADDRESS_CHARS_MAX: usize = 255;
const CURRENCY_CHARS_MAX: usize = 64;
const TXID_CHARS_MAX: usize = 130;
/// Far beyond 128 bits, so that impossible amounts can be tried too.
const AMOUNT_CHARS_MAX: usize = 60;
/// More places than any currency has.
const PLACES_MAX: u32 = 38;

/// A payment on the simulated chain: to an invoice, or to an address of an invoice or a payout
/// order.
#[derive(ToSchema)]
pub struct NewSandboxDeposit {
    /// The invoice to pay, in its own currency if `currency` is absent. Instead of `network` and
    /// `address`.
    #[schema(max_length = 255)]
    pub payment_id: Option<String>,
    /// The chain to pay on, together with `address`: also another one than the invoice's.
    #[schema(value_type = Option<schema::NetworkName>)]
    pub network: Option<String>,
    /// An address of one of your invoices or payout orders, together with `network`.
    #[schema(max_length = 255)]
    pub address: Option<String>,
    /// Whole coins.
    #[schema(value_type = WholeCoins)]
    pub amount: String,
    /// `CODE` or `CODE@NETWORK`; the invoice's own currency if absent, or the network's coin.
    #[schema(max_length = 64)]
    pub currency: Option<String>,
    /// True leaves it in the mempool. Send the same `txid` once more without it to confirm it.
    pub unconfirmed: Option<bool>,
    /// 1 to 128 hex digits, with or without `0x`; made up if absent.
    #[schema(max_length = 130)]
    pub txid: Option<String>,
}

/// The invoice whose window ends now.
#[derive(ToSchema)]
pub struct SandboxExpiry {
    /// Its `payment_id`.
    #[schema(max_length = 255)]
    pub payment_id: String,
}

/// A transaction on the simulated chain.
#[derive(Debug, Serialize, ToSchema)]
pub struct SandboxDeposit {
    /// Its hash, as the deposit's `tx_hash` will be.
    pub txid: String,
    /// The chain on which it is.
    #[schema(value_type = schema::NetworkName)]
    pub network: &'static str,
    /// Its block; null while it waits in the mempool.
    #[schema(required)]
    pub height: Option<u64>,
    /// The newest block now.
    pub head: u64,
    /// False if this transaction was known before.
    pub new: bool,
}

impl From<Simulated> for SandboxDeposit {
    fn from(done: Simulated) -> Self {
        let Simulated { txid, network, height, head, new } = done;
        Self { txid, network, height, head, new }
    }
}

pub fn deposit(members: &Members) -> Result<Deposit, ApiError> {
    let payment_id = payment_id(members)?;
    let network = members.string("network", 1..=ID_CHARS_MAX)?;
    let address = members.string("address", 1..=ADDRESS_CHARS_MAX)?;
    let payee = match (payment_id, network, address) {
        (Some(id), None, None) => Payee::Invoice(id),
        (None, Some(network), Some(address)) => {
            let network = network.to_ascii_lowercase().parse::<Network>();
            let network =
                network.map_err(|_| ApiError::invalid("network is not a known network"))?;
            Payee::Address { network, address }
        }
        _ => return Err(ApiError::invalid("send payment_id, or network and address")),
    };
    let amount = required("amount", members.decimal("amount", AMOUNT_CHARS_MAX)?)?;
    match BaseUnits::parse(&amount, PLACES_MAX) {
        Ok(units) if units.is_zero() => {
            return Err(ApiError::invalid("amount must be greater than 0"));
        }
        Ok(_) | Err(AmountError::TooLarge) => {}
        Err(error) => return Err(ApiError::invalid(format!("amount {error}"))),
    }
    let currency = members.string("currency", 1..=CURRENCY_CHARS_MAX)?;
    Ok(Deposit {
        payee,
        paid_in: PaidIn { currency, contract: None },
        amount,
        txid: members.string("txid", 1..=TXID_CHARS_MAX)?,
        unconfirmed: members.flag("unconfirmed")?.unwrap_or(false),
    })
}

pub fn expiry(members: &Members) -> Result<String, ApiError> {
    required("payment_id", payment_id(members)?)
}

fn payment_id(members: &Members) -> Result<Option<String>, ApiError> {
    members.string("payment_id", 1..=ID_CHARS_MAX)
}

impl From<SimulateError> for ApiError {
    fn from(error: SimulateError) -> Self {
        match error {
            SimulateError::UnknownInvoice(_) | SimulateError::UnknownTransaction => {
                Self::PaymentNotFound
            }
            SimulateError::NotSimulated { .. }
            | SimulateError::Draft
            | SimulateError::UnknownCurrency(..)
            | SimulateError::Address { .. }
            | SimulateError::Amount(_)
            | SimulateError::TransactionId
            | SimulateError::TooManyBlocks => Self::invalid(error.to_string()),
            SimulateError::Storage(error) => error.into(),
        }
    }
}
