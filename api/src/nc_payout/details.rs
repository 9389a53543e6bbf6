//! Machine-readable details of an error, beyond its code.

use gateway::{
    app::nc_payout::RefusingOutput,
    chain::pay::utxo::Unusable,
    nc_payout::{State, check::Difference, schema as words},
    payout::{recipients::RowFault, schema as amounts},
};
use serde::Serialize;
use utoipa::ToSchema;

/// Details for programs: outputs that cannot be paid, inputs that cannot be spent, fields that
/// differ from the built transaction, the amounts held and needed, or the payout's state.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = NcPayoutProblemDetails)]
pub enum Details {
    Outputs(Vec<OutputFault>),
    Inputs(Vec<InputFault>),
    Fields(Vec<OtherField>),
    Lack(Lack),
    State(Standing),
}

/// An output that cannot be paid.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = NcOutputFault)]
pub struct OutputFault {
    /// The entry of `outputs`, counted from 1.
    output: usize,
    /// Which of its fields, or `row` for all of it.
    field: String,
    /// For people.
    reason: String,
    /// The beginning of the value that was sent.
    value: String,
}

/// An input that cannot be spent.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = NcInputFault)]
pub struct InputFault {
    /// As `txid:vout`.
    input: String,
    /// For people.
    reason: String,
}

/// A field of a signed transaction that differs from the built one.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = NcOtherField)]
pub struct OtherField {
    /// As wallets call it.
    field: String,
    /// The built value; `-` if the transaction has no such field.
    built: String,
    /// The submitted value; `-` if the transaction has no such field.
    signed: String,
}

/// The missing funds, in base units: of the currency with `INSUFFICIENT_FUNDS`, of the chain's own
/// coin with `INSUFFICIENT_GAS`.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NcLack)]
pub struct Lack {
    /// The amount held.
    #[schema(value_type = amounts::RawAmount)]
    has_raw: String,
    /// The amount needed.
    #[schema(value_type = amounts::RawAmount)]
    needs_raw: String,
}

/// The present state of a payout.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = NcStanding)]
pub struct Standing {
    #[schema(value_type = words::NcState)]
    state: &'static str,
}

impl Details {
    pub fn of_rows(faults: &[RowFault]) -> Self {
        let one = |fault: &RowFault| OutputFault {
            output: usize::try_from(fault.row).unwrap_or(usize::MAX),
            field: fault.column.as_str().to_owned(),
            reason: fault.reason.to_string(),
            value: fault.value.clone(),
        };
        Self::Outputs(faults.iter().map(one).collect())
    }

    pub fn of_refusing(outputs: &[RefusingOutput]) -> Self {
        let one = |output: &RefusingOutput| OutputFault {
            output: output.row,
            field: "address".to_owned(),
            reason: output.reason.clone(),
            value: output.address.clone(),
        };
        Self::Outputs(outputs.iter().map(one).collect())
    }

    pub fn of_inputs(inputs: &[(String, Unusable)]) -> Self {
        let one = |(input, reason): &(String, Unusable)| InputFault {
            input: input.clone(),
            reason: reason.to_string(),
        };
        Self::Inputs(inputs.iter().map(one).collect())
    }

    pub fn of_fields(differences: &[Difference]) -> Self {
        let one = |one: &Difference| OtherField {
            field: one.field.clone(),
            built: one.built.clone(),
            signed: one.signed.clone(),
        };
        Self::Fields(differences.iter().map(one).collect())
    }

    pub fn of_lack(has: u128, needs: u128) -> Self {
        Self::Lack(Lack { has_raw: has.to_string(), needs_raw: needs.to_string() })
    }

    pub const fn of_state(state: State) -> Self {
        Self::State(Standing { state: state.as_str() })
    }
}
