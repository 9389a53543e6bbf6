//! Between the gateway and the merchant's wallet: the file to sign, and what comes back signed.

use axum::{
    extract::{Path, State},
    response::Response,
};
use gateway::nc_payout::{build::OUTPUTS_MAX, psbt, signed, view::UnsignedFile};

use super::super::{Named, act, named, nc_payouts, report::file, words};
use crate::{form::Form, problem::Problem, visit::Visit};

/// Name of the file with signed transactions, and of the field for their text.
const FILE: &str = "file";
const TEXT: &str = "signed";

/// The transactions to sign, as a file.
pub async fn unsigned(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    of_nc(&id)?;
    let view = match gateway.look_at_nc_payout(visit.merchant()?.merchant_id, &id).await {
        Ok(view) => view,
        Err(error) => return Err(Problem::Conflict(words::of_nc(error)?)),
    };
    match view.unsigned_file() {
        Some(UnsignedFile::Psbt(bytes)) => {
            Ok(file(&format!("{id}.psbt"), "application/octet-stream", bytes))
        }
        Some(UnsignedFile::Json(text)) => Ok(file(&format!("{id}.json"), "application/json", text)),
        None => Err(Problem::Conflict("Nothing of this payout is to be signed any more.".into())),
    }
}

pub async fn submit(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    of_nc(&id)?;
    let refusal = match read(&visit.form) {
        Ok(signed) => {
            let merchant_id = visit.merchant()?.merchant_id;
            match gateway.submit_nc_payout(merchant_id, &id, &signed).await {
                Ok(_) => return Ok(act::done(&id, "submitted")),
                Err(error) => words::of_nc(error)?,
            }
        }
        Err(text) => text,
    };
    nc_payouts::refused(&gateway, &visit, &id, refusal).await
}

/// The signed transactions of a form: a PSBT as bytes, or texts in hex or base64.
fn read(form: &Form) -> Result<Vec<Vec<u8>>, String> {
    let text = match form.file(FILE) {
        Some(bytes) if bytes.starts_with(psbt::MAGIC) => return Ok(vec![bytes.to_vec()]),
        Some(bytes) => std::str::from_utf8(bytes)
            .map_err(|_| "The file is neither a PSBT nor text in hex or base64.".to_owned())?,
        None => form.text(TEXT),
    };
    let signed = signed::all_in(text)
        .map_err(|position| format!("Signed transaction {position} is neither hex nor base64."))?;
    if signed.is_empty() {
        return Err("Choose the signed file, or paste the signed transactions.".to_owned());
    }
    if signed.len() > OUTPUTS_MAX {
        return Err(format!("A payout has at most {OUTPUTS_MAX} transactions."));
    }
    Ok(signed)
}

fn of_nc(id: &str) -> Result<(), Problem> {
    if named(id)? == Named::NonCustodial { Ok(()) } else { Err(Problem::NotFound) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_transactions_are_read_from_a_file_or_from_the_field() {
        let mut form = Form::default();
        assert!(read(&form).unwrap_err().starts_with("Choose"));
        form.add(TEXT.to_owned(), "0x02f8\n0x02f9");
        assert_eq!(read(&form).unwrap(), [[2, 0xf8], [2, 0xf9]]);
        let psbt = [psbt::MAGIC, &[0xff, 7]].concat();
        form.add_file(FILE.to_owned(), psbt.clone().into());
        assert_eq!(read(&form).unwrap(), [psbt]);
        for (content, part) in [(&b"\xff\xfe"[..], "neither a PSBT"), (b"0x02 zz", "transaction 2")]
        {
            let mut form = Form::default();
            form.add_file(FILE.to_owned(), content.to_vec().into());
            assert!(read(&form).unwrap_err().contains(part), "{content:?}");
        }
        let mut form = Form::default();
        form.add(TEXT.to_owned(), &"02 ".repeat(101));
        assert!(read(&form).unwrap_err().contains("at most 100"));
    }
}
