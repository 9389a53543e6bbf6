//! x402: resources, settlements, and what tokens tell of themselves.

pub mod following;
pub mod health;
pub mod lists;
pub mod resources;
pub mod settlements;

use uuid::Uuid;

use super::{PgConnection, StorageError};
use crate::{
    asset::{Family, Network},
    invoice::Status,
    money::BaseUnits,
    x402::Word,
};

/// An address that payments may name as `payTo`, and its owner.
#[derive(Debug, Clone)]
pub struct Recipient {
    pub address_id: Uuid,
    pub merchant_id: Uuid,
    pub invoice: Option<InvoiceAsked>,
    /// The networks of its resource, where there is one; null for an invoice.
    pub networks: Option<Vec<String>>,
}

/// An invoice as far as a payment of it is concerned.
#[derive(Debug, Clone)]
pub struct InvoiceAsked {
    pub id: Uuid,
    pub status: Status,
    pub token_id: Option<String>,
    /// Neither received nor settled in a block that is not booked yet: a program that asks again in
    /// between must not pay twice.
    pub remaining: BaseUnits,
    /// Other payments of it that no block holds yet. Each may still arrive, so a further one would
    /// pay twice.
    pub under_way: BaseUnits,
    pub seconds_left: i64,
}

impl InvoiceAsked {
    /// The most that a further payment may be.
    pub fn left(&self) -> BaseUnits {
        self.remaining.checked_sub(self.under_way).unwrap_or(BaseUnits::ZERO)
    }
}

/// The time in Unix seconds, and the owner of an address of an EVM network, in the spelling of
/// `match_key`. `asking` are the payer and the nonce of the payment in hand, which is not under way
/// beside itself. Indices: `deposit_address_unique`, `x402_resource_address_once`,
/// `x402_settlement_by_address`.
pub async fn recipient(
    connection: &mut PgConnection,
    match_key: &str,
    asking: Option<(&str, &Word)>,
) -> Result<(u64, Option<Recipient>), StorageError> {
    let (payer, nonce) = asking.unzip();
    let row = sqlx::query!(
        r#"
        select extract(epoch from now())::bigint as "now!", a.id as "address_id?",
               coalesce(r.merchant_id, i.merchant_id) as merchant_id, r.networks as "networks?", i.id as "invoice_id?",
               i.status as "status?: Status", i.token_id as "token_id?",
               greatest(coalesce(i.pay_amount - i.received - held.sum, 0), 0) as "remaining!: BaseUnits",
               under_way.sum as "under_way!: BaseUnits",
               coalesce(extract(epoch from i.deadline_at - now())::bigint, 0) as "seconds_left!"
        from (select) as one
        left join deposit_address a on a.family = $1 and a.match_key = $2
        left join invoice i on i.id = a.invoice_id
        left join x402_resource r on r.address_id = a.id and r.deleted_at is null
        left join lateral (
            select coalesce(sum(s.amount), 0) as sum
            from x402_settlement s
            where i.id is not null and s.address_id = a.id and s.answered_hash is not null and s.state <> 'failed'
              -- After a reorg another version than the answered one may have brought the deposit.
              and not exists (
                  select from x402_version v
                  join deposit d on d.tx_hash = v.tx_hash
                  where v.settlement_id = s.id and d.network = s.network and d.address_id = a.id and d.booked_as is not null
              )
        ) held on true
        left join lateral (
            select coalesce(sum(s.amount), 0) as sum
            from x402_settlement s
            where i.id is not null and s.address_id = a.id and s.answered_hash is null and s.state in ('verified', 'submitted')
              and (s.payer, s.nonce) is distinct from ($3, $4)
        ) under_way on true
        "#,
        Family::Evm.name(),
        match_key,
        payer,
        nonce.map(|nonce| &nonce.bytes()[..])
    )
    .fetch_one(connection)
    .await?;
    let now = u64::try_from(row.now).unwrap_or(0);
    let recipient =
        row.address_id.zip(row.merchant_id).map(|(address_id, merchant_id)| Recipient {
            address_id,
            merchant_id,
            invoice: row.invoice_id.zip(row.status).map(|(id, status)| InvoiceAsked {
                id,
                status,
                token_id: row.token_id,
                remaining: row.remaining,
                under_way: row.under_way,
                seconds_left: row.seconds_left,
            }),
            networks: row.networks,
        });
    Ok((now, recipient))
}

/// Makes settlements to one address wait for one another until their transactions end, so that what
/// is under way is counted by one at a time.
pub async fn lock_recipient(
    connection: &mut PgConnection,
    address_id: Uuid,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"select pg_advisory_xact_lock(hashtextextended('x402:recipient:' || $1::uuid::text, 0)) as "locked?: ()""#,
        address_id
    )
    .fetch_one(connection)
    .await?;
    Ok(())
}

/// The name and the version that a token told of itself.
pub async fn domain(
    connection: &mut PgConnection,
    network: Network,
    contract: &str,
) -> Result<Option<(String, String)>, StorageError> {
    let row = sqlx::query!(
        "select name, version from x402_domain where network = $1 and contract = $2",
        network.name(),
        contract
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| (row.name, row.version)))
}

pub async fn store_domain(
    connection: &mut PgConnection,
    network: Network,
    contract: &str,
    (name, version): (&str, &str),
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into x402_domain (network, contract, name, version) values ($1, $2, $3, $4)
        on conflict (network, contract) do update set name = $3, version = $4, read_at = now()
        "#,
        network.name(),
        contract,
        name,
        version
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The merchant of an API key, without taking a request of his budget: whether he is suspended too.
/// Index: `merchant_api_key_unique`.
pub async fn merchant_of_key(
    connection: &mut PgConnection,
    api_key_sha256: &[u8],
) -> Result<Option<(Uuid, bool)>, StorageError> {
    let row = sqlx::query!(
        r#"select id, suspended_at is not null as "suspended!" from merchant where api_key_sha256 = $1"#,
        api_key_sha256
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| (row.id, row.suspended)))
}
