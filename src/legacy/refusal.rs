//! Reasons for which the adapter refuses a request. The texts are the interface: clients compare
//! nothing but `ok`, and people search the web for the rest.

use thiserror::Error;

/// A refusal, as `error` says it with HTTP 200. Those of CoinPayments are spelt as it spells them.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("Invalid version")]
    Version,
    #[error("Invalid public key passed")]
    PublicKey,
    #[error("No HMAC signature sent")]
    NoSignature,
    #[error("HMAC signature does not match")]
    Signature,
    #[error("This merchant account is suspended!")]
    Suspended,
    #[error("Too many requests, try again in 60 seconds!")]
    TooManyRequests,
    #[error("Invalid command specified!")]
    Command,
    #[error("This API Key does not have permission to use that command!")]
    Permission,
    #[error("Invalid currency code for {0}")]
    Currency(&'static str),
    #[error("Receiver does not accept that coin!")]
    NotAccepted,
    #[error("Transaction amount must be greater than 0")]
    NoAmount,
    #[error("Transaction amount is not a usable number")]
    Amount,
    #[error("Amount too small, there would be nothing left!")]
    TooSmall,
    #[error("No 'buyer_email' set! It is needed to contact the buyer if there is a problem.")]
    NoBuyerEmail,
    #[error("Forwarding to another address is not supported!")]
    Forwarding,
    #[error("Invalid value for {0}")]
    Field(&'static str),
    #[error("Invalid merchant ID!")]
    Merchant,
    #[error("Invalid nonce: it must be a whole number, and higher than in every request before!")]
    Nonce,
    #[error("Transaction not found")]
    NotFound,
    #[error("Withdrawal not found")]
    NoWithdrawal,
    #[error("That coin cannot be withdrawn here!")]
    NotWithdrawable,
    #[error("$PayByName tags and domains are not supported!")]
    PayByName,
    /// A fault of the recipient's address or of the amount, as payouts word it.
    #[error("Invalid withdrawal: {0}")]
    Withdrawal(String),
    #[error("The withdrawal is {0} and cannot be cancelled any more!")]
    TooLateToCancel(&'static str),
    #[error("Too many open withdrawals, try again when some have ended!")]
    WithdrawalQuota,
    #[error("The network's fee is not known, try again later!")]
    NoFee,
    #[error("No withdrawals in the request!")]
    NoWithdrawals,
    #[error("No more than {max} withdrawals can be ordered at once!")]
    TooManyWithdrawals { max: usize },
    /// Nothing of it is done.
    #[error("There was no time left for this withdrawal, order it again!")]
    NoTime,
    /// It was begun, and may be ordered.
    #[error("The withdrawal took too long, look for it in the history before you order it again!")]
    Unclear,
    #[error("Too many addresses, use those that were given!")]
    AddressQuota,
    #[error("No more than {max} transactions can be looked up at once!")]
    TooMany { max: usize },
    #[error("Too many open transactions, try again when some have ended!")]
    Quota,
    #[error("There is no fresh exchange rate, try again later!")]
    NoRate,
    #[error("There is no address for that coin at the moment, try again later!")]
    NoAddress,
    #[error("The request could not be read")]
    Unreadable,
    /// Logged where it happened.
    #[error("Internal error, try again later!")]
    Internal,
}
