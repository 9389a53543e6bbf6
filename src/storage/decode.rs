//! Columns whose values are read as types of their own: a text that is no member of its vocabulary
//! fails the query as damaged data.

use bigdecimal::BigDecimal;
use sqlx::{
    Decode, Postgres, Type,
    error::BoxDynError,
    postgres::{PgTypeInfo, PgValueRef},
};

use super::numeric;
use crate::{
    account, asset::Network, deposit, invoice, ledger, legacy, link, mail, merchant,
    money::BaseUnits, payout, subscription, sweep, webhook, x402,
};

macro_rules! decoded_from_text {
    ($($type:ty),+ $(,)?) => {$(
        impl Type<Postgres> for $type {
            fn type_info() -> PgTypeInfo {
                <str as Type<Postgres>>::type_info()
            }

            fn compatible(column: &PgTypeInfo) -> bool {
                <str as Type<Postgres>>::compatible(column)
            }
        }

        impl<'r> Decode<'r, Postgres> for $type {
            fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
                Ok(<&str as Decode<Postgres>>::decode(value)?.parse::<Self>()?)
            }
        }
    )+};
}

decoded_from_text! {
    account::Role,
    Network,
    deposit::State,
    deposit::BookedAs,
    invoice::Status,
    ledger::EntryKind,
    legacy::address::Purpose,
    link::LinkKind,
    mail::Language,
    mail::MailKind,
    merchant::settings::UnderpayWhen,
    payout::State,
    payout::listed::ListedKind,
    payout::listed::ListedState,
    subscription::Interval,
    subscription::State,
    sweep::State,
    webhook::Channel,
    webhook::event::EventKind,
    webhook::retry::DeliveryState,
    x402::settlement::State,
}

impl Type<Postgres> for BaseUnits {
    fn type_info() -> PgTypeInfo {
        <BigDecimal as Type<Postgres>>::type_info()
    }
}

impl<'r> Decode<'r, Postgres> for BaseUnits {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        let value = <BigDecimal as Decode<Postgres>>::decode(value)?;
        Ok(numeric::to_units("stored", &value)?)
    }
}
