//! x402: resources, settlements, and what tokens tell of themselves.

pub mod costs;
pub mod following;
pub mod health;
pub mod lists;
pub mod operating;
pub mod reorgs;
pub mod resources;
pub mod settlements;

use uuid::Uuid;

use super::{PgConnection, StorageError};
use crate::{
    asset::{Family, Network},
    invoice::Status,
    money::BaseUnits,
    x402::{Word, settlement::State},
};

/// An address that payments may name as `payTo`, and its owner.
#[derive(Debug, Clone)]
pub struct Recipient {
    pub address_id: Uuid,
    pub merchant_id: Uuid,
    /// Nothing more is taken for a merchant who is suspended.
    pub is_suspended: bool,
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

/// The authorization in hand; addresses in lower case.
#[derive(Debug, Clone, Copy)]
pub struct Asking<'a> {
    pub network: Network,
    /// The token's contract.
    pub asset: &'a str,
    pub payer: &'a str,
    pub nonce: &'a Word,
}

/// The settlement that an authorization has already.
#[derive(Debug, Clone)]
pub struct Known {
    pub merchant_id: Uuid,
    pub call_sha256: Vec<u8>,
    pub state: State,
    /// A block was seen to hold it.
    pub is_answered: bool,
}

/// What is known of an address and of the payment to it in hand.
#[derive(Debug, Clone)]
pub struct Found {
    /// Unix seconds, by the database.
    pub now: u64,
    pub recipient: Option<Recipient>,
    pub known: Option<Known>,
    /// Payments of the payer that cost gas and moved nothing: final ones of the last hour, and
    /// those whose block is not final yet.
    pub reverted: i64,
}

struct RawFound {
    now: i64,
    address_id: Option<Uuid>,
    merchant_id: Option<Uuid>,
    is_suspended: bool,
    networks: Option<Vec<String>>,
    invoice_id: Option<Uuid>,
    status: Option<Status>,
    token_id: Option<String>,
    remaining: BaseUnits,
    under_way: BaseUnits,
    seconds_left: i64,
    known_merchant_id: Option<Uuid>,
    known_sha256: Option<Vec<u8>>,
    known_state: Option<State>,
    is_answered: bool,
    reverted: i64,
}

impl From<RawFound> for Found {
    fn from(raw: RawFound) -> Self {
        let invoice = raw.invoice_id.zip(raw.status).map(|(id, status)| InvoiceAsked {
            id,
            status,
            token_id: raw.token_id,
            remaining: raw.remaining,
            under_way: raw.under_way,
            seconds_left: raw.seconds_left,
        });
        let owner = raw.address_id.zip(raw.merchant_id);
        let recipient = owner.map(|(address_id, merchant_id)| Recipient {
            address_id,
            merchant_id,
            is_suspended: raw.is_suspended,
            invoice,
            networks: raw.networks,
        });
        let known = raw.known_merchant_id.zip(raw.known_sha256).zip(raw.known_state);
        let known = known.map(|((merchant_id, call_sha256), state)| Known {
            merchant_id,
            call_sha256,
            state,
            is_answered: raw.is_answered,
        });
        let now = u64::try_from(raw.now).unwrap_or(0);
        Self { now, recipient, known, reverted: raw.reverted }
    }
}

/// The owner of an address of an EVM network, in the spelling of `match_key`, and the settlement of
/// the payment in hand, which is not under way beside itself. Indices: `deposit_address_unique`,
/// `x402_resource_address_once`, `x402_settlement_by_address`, `x402_settlement_once`,
/// `x402_settlement_reverted`, `x402_settlement_unanswered`.
pub async fn recipient(
    connection: &mut PgConnection,
    match_key: &str,
    asking: Option<Asking<'_>>,
) -> Result<Found, StorageError> {
    let raw = sqlx::query_as!(
        RawFound,
        r#"
        select extract(epoch from now())::bigint as "now!", a.id as "address_id?",
               coalesce(r.merchant_id, i.merchant_id) as merchant_id, m.suspended_at is not null as "is_suspended!",
               r.networks as "networks?", i.id as "invoice_id?",
               i.status as "status?: Status", i.token_id as "token_id?",
               greatest(coalesce(i.pay_amount - i.received - held.sum, 0), 0) as "remaining!: BaseUnits",
               under_way.sum as "under_way!: BaseUnits",
               coalesce(extract(epoch from i.deadline_at - now())::bigint, 0) as "seconds_left!",
               known.merchant_id as "known_merchant_id?", known.call_sha256 as "known_sha256?",
               known.state as "known_state?: State", known.answered_hash is not null as "is_answered!",
               (select count(*) from x402_settlement f
                where f.network = $5 and f.asset = $6 and f.payer = $3 and f.state = 'failed' and f.fee is not null
                  and f.ended_at > now() - interval '1 hour')
               + (select count(*) from x402_settlement f
                  where f.network = $5 and f.asset = $6 and f.payer = $3 and f.state = 'submitted'
                    and f.answered_hash is null and f.height is not null) as "reverted!"
        from (select) as one
        left join deposit_address a on a.family = $1 and a.match_key = $2
        left join invoice i on i.id = a.invoice_id
        left join x402_resource r on r.address_id = a.id and r.deleted_at is null
        left join merchant m on m.id = coalesce(r.merchant_id, i.merchant_id)
        left join x402_settlement known
          on known.network = $5 and known.asset = $6 and known.payer = $3 and known.nonce = $4
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
        asking.map(|asking| asking.payer),
        asking.map(|asking| &asking.nonce.bytes()[..]),
        asking.map(|asking| asking.network.name()),
        asking.map(|asking| asking.asset)
    )
    .fetch_one(connection)
    .await?;
    Ok(raw.into())
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

/// Returns whether a program's payment of an invoice is under way, or has moved its money. Indices:
/// `deposit_address_by_invoice`, `x402_settlement_by_address`.
pub async fn is_paying(
    connection: &mut PgConnection,
    invoice_id: Uuid,
) -> Result<bool, StorageError> {
    let is_paying = sqlx::query_scalar!(
        r#"
        select exists (
            select from deposit_address a
            join x402_settlement s on s.address_id = a.id
            where a.invoice_id = $1 and s.state <> 'failed'
        ) as "is_paying!"
        "#,
        invoice_id
    )
    .fetch_one(connection)
    .await?;
    Ok(is_paying)
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
