//! Creating an order: a draft with a quote, from rows that are all good.

use chrono::TimeDelta;
use uuid::Uuid;

use super::{
    decide::Confirmation,
    errors::PayoutError,
    limits::{batch_sizes, refuse_above_limits},
    order::locked,
    price::{priced, stored},
};
use crate::{
    app::{
        Gateway,
        invoice::create::{Created, Idempotency},
    },
    asset::{Family, address, catalogue::Currency},
    money::BaseUnits,
    payout::{
        FeeMode, Funding, PayoutFamily, State,
        binding::BoundRow,
        fingerprint::Fingerprint,
        id,
        limit::Limits,
        quote::{Quote, Tariff},
        recipients::{self, Column, FAULTS_MAX, Reason, Recipient, Row, RowFault, shown},
    },
    storage::{
        self, PgConnection, StorageError,
        legacy_withdrawals::{self, WithdrawalRow},
        merchants,
        payouts::{
            self, Books, PayoutOrder, answers, batches,
            items::{self, NewItem},
        },
        timers,
    },
};

/// A draft that is never confirmed is forgotten after so long.
const ABANDONED_AFTER: TimeDelta = TimeDelta::hours(24);

/// A request whose form is checked; its rows are not.
#[derive(Debug, Clone)]
pub struct NewOrder {
    pub family: PayoutFamily,
    pub network: String,
    pub currency: String,
    pub rows: Vec<Row>,
    pub fee_mode: FeeMode,
    pub refund_address: Option<String>,
    pub label: Option<String>,
    /// A JSON object's own text.
    pub metadata: Option<String>,
    pub callback_url: Option<String>,
    pub idempotency: Option<Idempotency>,
    /// The part of an order that the `/legacy` adapter creates.
    pub withdrawal: Option<Withdrawal>,
}

/// A withdrawal in the `/legacy` dialect.
#[derive(Debug, Clone)]
pub struct Withdrawal {
    /// The public id.
    pub id: String,
    /// Confirmed in the transaction that creates it: a confirmation that is refused leaves no
    /// draft, of which its shop would know nothing.
    pub auto_confirm: bool,
}

impl NewOrder {
    /// The fingerprint by which a repeated request is known.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut fingerprint = Fingerprint::default();
        fingerprint.add(Some(&self.network.to_ascii_lowercase()));
        fingerprint.add(Some(&self.currency.to_ascii_lowercase()));
        fingerprint.add(Some(self.fee_mode.as_str()));
        for text in [&self.refund_address, &self.label, &self.metadata, &self.callback_url] {
            fingerprint.add(text.as_deref());
        }
        for row in &self.rows {
            fingerprint.add_payment(row);
            for text in [&row.reference, &row.memo, &row.network, &row.currency] {
                fingerprint.add(text.as_deref());
            }
        }
        fingerprint.finish()
    }
}

/// A created order.
struct Made {
    answer: Created,
    withdrawal: Option<WithdrawalRow>,
}

impl From<Created> for Made {
    fn from(answer: Created) -> Self {
        Self { answer, withdrawal: None }
    }
}

impl Gateway {
    /// Creates the order that `request` asks for, or repeats the answer given to it before.
    ///
    /// One transaction holds the merchant's row, so of two requests under one key the second finds
    /// the first one's answer.
    pub async fn create_payout(
        &self,
        merchant_id: Uuid,
        request: &NewOrder,
    ) -> Result<Created, PayoutError> {
        self.create_order(merchant_id, request).await.map(|made| made.answer)
    }

    /// Creates an order that is a withdrawal. [`PayoutError::Unclear`] is the only error after
    /// which it may be there.
    pub async fn create_payout_withdrawal(
        &self,
        merchant_id: Uuid,
        request: &NewOrder,
    ) -> Result<WithdrawalRow, PayoutError> {
        let made = self.create_order(merchant_id, request).await?;
        let none = || StorageError::damaged("legacy_withdrawal", "the order is no withdrawal");
        Ok(made.withdrawal.ok_or_else(none)?)
    }

    async fn create_order(
        &self,
        merchant_id: Uuid,
        request: &NewOrder,
    ) -> Result<Made, PayoutError> {
        if !self.config.payouts_enabled() {
            return Err(PayoutError::Disabled);
        }
        if let Some(wanted) = &request.idempotency {
            let mut connection = self.db.connection().await?;
            let family = request.family;
            if let Some(replay) = replay(&mut connection, merchant_id, family, wanted).await? {
                return Ok(replay.into());
            }
        }
        let market = self.market().await?;
        let currency =
            self.payout_currency(&market, request.family, &request.network, &request.currency)?;
        let realm = self.realm(currency.network);
        let refund_address = request.refund_address.as_deref();
        let refund_address = refund_address
            .map(|text| address::validate_in(realm, currency.network, text))
            .transpose()
            .map_err(PayoutError::RefundAddress)?;
        let recipients = recipients::check_in(realm, &request.rows, currency);
        let recipients = recipients.map_err(PayoutError::Rows)?;
        let price = self.quoted_price(currency).await?;
        let tariff = self.tariff(&market, currency, request.fee_mode, price)?;
        let price_usd = tariff.prices.asset_usd;
        let limits = self.limits_of(merchant_id).await?;
        let rows = recipients.iter().map(|recipient| (recipient.row, recipient.amount));
        refuse_above_limits(rows, currency, price_usd, &limits)?;
        let batches = batch_sizes(request.family, &recipients, currency, price_usd, &limits);
        let amounts: Vec<_> = recipients.iter().map(|recipient| recipient.amount).collect();
        let row_of = |position: usize| recipients[position].row;
        let quoted = priced(currency, (&amounts, batches.len()), &tariff, row_of)?;

        let mut tx = self.db.begin().await?;
        if !merchants::lock_for_creation(&mut tx, merchant_id).await? {
            return Err(PayoutError::Suspended);
        }
        if let Some(wanted) = &request.idempotency
            && let Some(replay) = replay(&mut tx, merchant_id, request.family, wanted).await?
        {
            return Ok(replay.into());
        }
        self.refuse_beyond_quota(&mut tx, merchant_id).await?;
        self.refuse_own_addresses(&mut tx, currency, &recipients).await?;
        self.refuse_own_refund(&mut tx, currency, refund_address.as_deref()).await?;
        let now = storage::now(&mut tx).await?;
        let priced = (&quoted, batches.len());
        let mut order = self.draft(merchant_id, request, currency, priced, &tariff, now);
        order.refund_address = refund_address;
        let rows = insert_order(&mut tx, &order, &recipients, (&quoted.net, &batches)).await?;
        self.bind(&mut tx, order.id, &rows).await?;
        timers::set(&mut tx, timers::PAYOUT, order.id, order.abandoned_at).await?;
        let withdrawal = match &request.withdrawal {
            Some(wanted) => Some(self.withdraw_in(&mut tx, &mut order, wanted).await?),
            None => None,
        };
        let body = self.payout_snapshot(&mut tx, &order, None).await?;
        if let Some(wanted) = &request.idempotency {
            let (key, sha256) = (&wanted.key, &wanted.request_sha256);
            let kept = (order.id, body.as_str());
            answers::insert(&mut tx, merchant_id, request.family, key, sha256, kept).await?;
        }
        tx.commit().await.map_err(|error| PayoutError::Unclear(error.into()))?;
        self.relay_wake.notify_one();
        Ok(Made { answer: Created { body, replayed: false }, withdrawal })
    }

    /// Makes a new order a withdrawal, and reads it as its shop is told of it: here, before the
    /// commit, as a shop whose answer fails orders again.
    async fn withdraw_in(
        &self,
        tx: &mut PgConnection,
        order: &mut PayoutOrder,
        wanted: &Withdrawal,
    ) -> Result<WithdrawalRow, PayoutError> {
        legacy_withdrawals::insert(tx, order.id, order.merchant_id, &wanted.id).await?;
        if wanted.auto_confirm {
            *order = locked(tx, order.id).await?;
            self.confirm_in(tx, order, &Confirmation::default()).await?;
        }
        let made = legacy_withdrawals::of_merchant(tx, order.merchant_id, &wanted.id).await?;
        let gone = || StorageError::damaged("legacy_withdrawal", "it was here a moment ago");
        Ok(made.ok_or_else(gone)?)
    }

    pub(super) async fn limits_of(&self, merchant_id: Uuid) -> Result<Limits, StorageError> {
        let mut connection = self.db.connection().await?;
        self.payout_limits(&mut connection, merchant_id).await
    }

    fn draft(
        &self,
        merchant_id: Uuid,
        request: &NewOrder,
        currency: &'static Currency,
        (quoted, batches): (&Quote, usize),
        tariff: &Tariff,
        now: chrono::DateTime<chrono::Utc>,
    ) -> PayoutOrder {
        let held_for = TimeDelta::seconds(i64::from(self.config.payouts.quote_seconds));
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        PayoutOrder {
            id: Uuid::now_v7(),
            order_id: id::order(request.family),
            merchant_id,
            family: request.family,
            state: State::Draft,
            funding: Funding::None,
            currency,
            fee_mode: request.fee_mode,
            label: request.label.clone(),
            metadata: request.metadata.clone(),
            refund_address: None,
            callback_url: request.callback_url.clone(),
            item_count: count(quoted.net.len()),
            batch_count: count(batches),
            payout_total: quoted.payout_total,
            total_to_send: quoted.total_to_send,
            quote: stored(quoted, tariff, now, now + held_for),
            books: Books::default(),
            deposit: None,
            expires_at: now + held_for,
            abandoned_at: now + ABANDONED_AFTER,
            cancelled_by: None,
            held: None,
            waits_for: None,
            gas_open: false,
            digest: None,
            created_at: now,
            confirmed_at: None,
            funded_at: None,
            finished_at: None,
            updated_at: now,
        }
    }

    /// Money sent to one of our own deposit addresses would pay the invoice of that address and
    /// count as paid out.
    async fn refuse_own_addresses(
        &self,
        tx: &mut PgConnection,
        currency: &Currency,
        recipients: &[Recipient],
    ) -> Result<(), PayoutError> {
        let mut faults = self.own_address_faults(tx, currency, recipients).await?;
        faults.truncate(FAULTS_MAX);
        if faults.is_empty() { Ok(()) } else { Err(PayoutError::Rows(faults)) }
    }

    /// The recipients at addresses of ours, as faults.
    pub(super) async fn own_address_faults(
        &self,
        tx: &mut PgConnection,
        currency: &Currency,
        recipients: &[Recipient],
    ) -> Result<Vec<RowFault>, StorageError> {
        let family = currency.family();
        let key = |recipient: &Recipient| address::match_key(family, &recipient.address);
        let keys: Vec<_> = recipients.iter().map(key).collect();
        let own = self.own_addresses(tx, family, &keys).await?;
        let fault = |recipient: &Recipient| RowFault {
            row: recipient.row,
            column: Column::Address,
            reason: Reason::OwnAddress,
            value: shown(&recipient.address),
        };
        let ours = recipients.iter().filter(|recipient| own.contains(&key(recipient)));
        Ok(ours.map(fault).collect())
    }

    /// A refund to an address of ours would come back as a deposit, for ever.
    pub(super) async fn refuse_own_refund(
        &self,
        tx: &mut PgConnection,
        currency: &Currency,
        refund_address: Option<&str>,
    ) -> Result<(), PayoutError> {
        let family = currency.family();
        let keys: Vec<_> =
            refund_address.iter().map(|text| address::match_key(family, text)).collect();
        if self.own_addresses(tx, family, &keys).await?.is_empty() {
            Ok(())
        } else {
            Err(PayoutError::OwnRefundAddress)
        }
    }

    /// Those of `keys` that are deposit addresses, or the gas wallet.
    async fn own_addresses(
        &self,
        tx: &mut PgConnection,
        family: Family,
        keys: &[String],
    ) -> Result<Vec<String>, StorageError> {
        let mut own = items::own_addresses(tx, family.name(), keys).await?;
        let wallet = self.gas_address().map(|text| address::match_key(Family::Evm, &text));
        own.extend(wallet.filter(|key| family == Family::Evm && keys.contains(key)));
        Ok(own)
    }
}

async fn replay(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    family: PayoutFamily,
    wanted: &Idempotency,
) -> Result<Option<Created>, PayoutError> {
    match answers::find(connection, merchant_id, family, &wanted.key).await? {
        None => Ok(None),
        Some(kept) if kept.request_sha256 == wanted.request_sha256 => {
            Ok(Some(Created { body: kept.response, replayed: true }))
        }
        Some(_) => Err(PayoutError::IdempotencyConflict),
    }
}

async fn insert_order(
    tx: &mut PgConnection,
    order: &PayoutOrder,
    recipients: &[Recipient],
    (net, batches): (&[BaseUnits], &[usize]),
) -> Result<Vec<BoundRow>, StorageError> {
    payouts::insert(tx, order).await?;
    let batch_rows: Vec<_> = batches.iter().map(|_| (Uuid::now_v7(), id::batch())).collect();
    batches::insert_all(tx, order.id, &batch_rows).await?;
    let batch_of_row: Vec<_> = batch_rows
        .iter()
        .zip(batches)
        .flat_map(|((id, _), rows)| std::iter::repeat_n(*id, *rows))
        .collect();
    let new: Vec<_> = recipients
        .iter()
        .zip(net)
        .zip(batch_of_row)
        .map(|((recipient, net), batch_id)| NewItem {
            id: Uuid::now_v7(),
            item_id: id::item(),
            batch_id,
            row_number: i32::try_from(recipient.row).unwrap_or(i32::MAX),
            address: recipient.address.clone(),
            amount: recipient.amount,
            net_amount: *net,
            reference: recipient.reference.clone(),
            memo: recipient.memo.clone(),
        })
        .collect();
    items::insert_all(tx, order.id, &new).await?;
    let bound = |item: NewItem| BoundRow {
        id: item.id,
        row_number: item.row_number,
        address: item.address,
        amount: item.amount,
        net_amount: item.net_amount,
    };
    Ok(new.into_iter().map(bound).collect())
}
