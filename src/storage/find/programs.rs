//! Resources that merchants sell to programs (x402), and settlements of their payments, that a text
//! names.

use uuid::Uuid;

use super::{FoundRow, found_rows};
use crate::storage::{PgConnection, StorageError};

/// The resource of a public id or of a row's id, with its address and its URL. Indices:
/// `x402_resource_id_unique`, `x402_resource_pkey`.
pub async fn resource(
    connection: &mut PgConnection,
    text: &str,
    row: Option<Uuid>,
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = found_rows!(
        "select r.resource_id, r.merchant_id,
                case when r.deleted_at is not null then 'deleted' when r.listed then 'on sale, listed' else 'on sale' end,
                null::text, a.address || ', ' || r.url, r.created_at
         from x402_resource r
         join deposit_address a on a.id = r.address_id
         where r.id = any (array(
             select id from x402_resource where resource_id = $1
             union
             select $2::uuid
         ))",
        text,
        row
    );
    Ok(rows.fetch_all(connection).await?)
}

/// Query for the settlements that the end of the query selects, each with its resource or payment.
macro_rules! settlements {
    ($state:tt, $chosen:tt, $($argument:expr),+ $(,)?) => {
        found_rows!(
            "select s.id::text, s.merchant_id,
                    s.state || case when s.reason is null then '' else ': ' || s.reason end" + $state + ",
                    s.network, coalesce(r.resource_id, i.payment_id), s.created_at
             from x402_settlement s
             join deposit_address a on a.id = s.address_id
             left join x402_resource r on r.address_id = s.address_id
             left join invoice i on i.id = a.invoice_id
             where " + $chosen,
            $($argument),+
        )
    };
}

/// The settlement of an id. Index: `x402_settlement_pkey`.
pub async fn settlement(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Vec<FoundRow>, StorageError> {
    Ok(settlements!("", "s.id = $1", id).fetch_all(connection).await?)
}

/// The settlements that a transaction was signed for, whether it was sent, failed or was replaced.
/// Index: `x402_version_hash_unique`.
pub async fn settlements_by_transaction(
    connection: &mut PgConnection,
    hashes: &[String],
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = settlements!(
        "|| case when s.tx_hash = any ($1) then '' else ', replaced by another transaction' end",
        "s.id = any (array(select settlement_id from x402_version where tx_hash = any ($1)))",
        hashes
    );
    Ok(rows.fetch_all(connection).await?)
}
