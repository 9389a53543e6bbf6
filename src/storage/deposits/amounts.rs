//! Total amounts at risk per invoice or order on its network.

use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    storage::{PgConnection, StorageError, cursors::to_column},
};

/// Amount that one owner has received in one asset, or requests if that is more.
#[derive(Debug, Clone)]
pub struct Amount {
    pub invoice_id: Option<Uuid>,
    pub payout_order_id: Option<Uuid>,
    /// It identifies the network too.
    pub token_id: String,
    pub units: BaseUnits,
}

/// Amounts of these invoices and orders in each asset that reached them on `network`. Vanished
/// deposits are left out, and a sum beyond 128 bits is capped. Indices: `deposit_by_invoice`,
/// `deposit_by_payout`.
pub async fn of_owners(
    connection: &mut PgConnection,
    network: Network,
    (invoice_ids, payout_order_ids): (&[Uuid], &[Uuid]),
) -> Result<Vec<Amount>, StorageError> {
    let rows = sqlx::query_as!(
        Amount,
        r#"
        select d.invoice_id, d.payout_order_id, d.token_id as "token_id!",
               least(greatest(sum(d.amount), max(i.pay_amount), max(o.total_to_send)),
                     340282366920938463463374607431768211455) as "units!: _"
        from deposit d
        left join invoice i on i.id = d.invoice_id and i.token_id = d.token_id
        left join payout_order o on o.id = d.payout_order_id and o.token_id = d.token_id
        where (d.invoice_id = any ($1) or d.payout_order_id = any ($2)) and d.network = $3 and d.token_id is not null
          and d.amount is not null and d.state in ('seen', 'final', 'settled')
        group by d.invoice_id, d.payout_order_id, d.token_id
        "#,
        invoice_ids,
        payout_order_ids,
        network.name()
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Amount on its way to an address that has neither an invoice nor an order.
#[derive(Debug, Clone)]
pub struct AmountAt {
    pub address_id: Uuid,
    /// It identifies the network too.
    pub token_id: String,
    pub units: BaseUnits,
}

/// Amounts that are on their way to these addresses on `network`, in each asset. Booked ones
/// are left out: such an address takes payments for ever, and a final one is at risk no more.
/// Index: `deposit_own_unsettled`.
pub async fn on_their_way(
    connection: &mut PgConnection,
    network: Network,
    address_ids: &[Uuid],
) -> Result<Vec<AmountAt>, StorageError> {
    let rows = sqlx::query_as!(
        AmountAt,
        r#"
        select address_id, token_id as "token_id!",
               least(sum(amount), 340282366920938463463374607431768211455) as "units!: _"
        from deposit
        where address_id = any ($1) and invoice_id is null and payout_order_id is null and network = $2
          and token_id is not null and amount is not null and state in ('seen', 'final')
        group by address_id, token_id
        "#,
        address_ids,
        network.name()
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Raises the required `confirmations` of those deposits, as [`require_confirmations`] does. Index:
/// `deposit_own_unsettled`.
pub async fn require_confirmations_at(
    connection: &mut PgConnection,
    amount: &AmountAt,
    confirmations: u64,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update deposit
        set min_confirmations = $3
        where address_id = $1 and token_id = $2 and state = 'seen' and min_confirmations < $3
          and invoice_id is null and payout_order_id is null
        "#,
        amount.address_id,
        amount.token_id,
        to_column(confirmations)?
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Raises the required `confirmations` of the deposits of `amount` that are not final. Their
/// last-seen times stay unchanged, because this is no observation. Indices: `deposit_by_invoice`,
/// `deposit_by_payout`.
pub async fn require_confirmations(
    connection: &mut PgConnection,
    amount: &Amount,
    confirmations: u64,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update deposit
        set min_confirmations = $4
        where (invoice_id = $1 or payout_order_id = $2) and token_id = $3 and state = 'seen' and min_confirmations < $4
        "#,
        amount.invoice_id,
        amount.payout_order_id,
        amount.token_id,
        to_column(confirmations)?
    )
    .execute(connection)
    .await?;
    Ok(())
}
