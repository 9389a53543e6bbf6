//! Creates a payout: it is checked, built, and stored together with its response.

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use super::{
    NcPayoutError,
    plan::{Built, Plan, Spends},
    read::view,
};
use crate::{
    app::{
        Gateway,
        invoice::create::{Created, Idempotency},
    },
    asset::{Network, address, catalogue::Currency},
    nc_payout::{self, FeeLevel, State},
    payout::{
        fingerprint::Fingerprint,
        recipients::{self, Column, FAULTS_MAX, Reason, Recipient, Row, RowFault, shown},
    },
    storage::{
        self, PgConnection, StorageError, merchants,
        nc_payouts::{
            self, NcPayout, coins,
            parts::{self, OutputRow},
        },
        payouts::items,
    },
};

/// A well-formed request; its outputs are not checked yet.
#[derive(Debug, Clone)]
pub struct NewNcPayout {
    pub network: String,
    pub currency: String,
    pub from_address: String,
    pub fee_level: FeeLevel,
    pub rows: Vec<Row>,
    /// Inputs to spend on bitcoin-like networks, as `txid:n`.
    pub inputs: Vec<String>,
    pub idempotency: Option<Idempotency>,
}

impl NewNcPayout {
    /// The fingerprint by which a repeated request is known.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut fingerprint = Fingerprint::default();
        for text in [&self.network, &self.currency, &self.from_address] {
            fingerprint.add(Some(&text.to_ascii_lowercase()));
        }
        fingerprint.add(Some(self.fee_level.as_str()));
        for row in &self.rows {
            fingerprint.add_payment(row);
            fingerprint.add(row.reference.as_deref());
        }
        for input in &self.inputs {
            fingerprint.add(Some(input));
        }
        fingerprint.finish()
    }
}

impl Gateway {
    /// Builds the payout of `request`, or repeats the stored response of an earlier request.
    ///
    /// One transaction locks the merchant's row, so of two requests under one key the second finds
    /// the response of the first.
    pub async fn create_nc_payout(
        &self,
        merchant_id: Uuid,
        request: &NewNcPayout,
    ) -> Result<Created, NcPayoutError> {
        let mut connection = self.db.connection().await?;
        if let Some(replay) = replay(&mut connection, merchant_id, request).await? {
            return Ok(replay);
        }
        drop(connection);
        let currency = self.nc_currency(&request.network, &request.currency).await?;
        let realm = self.realm(currency.network);
        let from = address::validate_in(realm, currency.network, &request.from_address)
            .map_err(NcPayoutError::FromAddress)?;
        let sender = address::match_key(currency.family(), &from);
        let recipients = recipients::check_in(realm, &request.rows, currency);
        let recipients = recipients.map_err(NcPayoutError::Rows)?;
        self.refuse_own_outputs(currency, &recipients).await?;
        let outputs = recipients.iter().map(|one| (one.address.as_str(), one.amount)).collect();
        let fee_level = request.fee_level;
        let inputs = request.inputs.as_slice();
        let plan = Plan { currency, sender: &sender, fee_level, outputs, inputs, nonces: &[] };
        let built = self.build_nc_payout(&plan).await?;

        let mut tx = self.db.begin().await?;
        if !merchants::lock_for_creation(&mut tx, merchant_id).await? {
            return Err(NcPayoutError::Suspended);
        }
        if let Some(replay) = replay(&mut tx, merchant_id, request).await? {
            return Ok(replay);
        }
        let now = storage::now(&mut tx).await?;
        let payout = self.new_row(merchant_id, &plan, &built, now);
        nc_payouts::insert(&mut tx, &payout).await?;
        let (place, outputs) =
            ((currency.network, plan.sender), recipients.iter().map(output).collect::<Vec<_>>());
        parts::insert_all(&mut tx, payout.id, place, &outputs, &built.transactions).await?;
        if let Some(Spends { coins, begin }) = &built.spends {
            coins::insert(&mut tx, payout.id, currency.network, coins, begin).await?;
        }
        let parts = parts::of_payout(&mut tx, payout.id).await?;
        let body = view(&payout, &parts, self.required_of_nc(&payout)).snapshot();
        if let Some(wanted) = &request.idempotency {
            let (key, sha256) = (&wanted.key, &wanted.request_sha256);
            nc_payouts::keep_answer(&mut tx, payout.id, key, sha256, &body).await?;
        }
        tx.commit().await.map_err(StorageError::from)?;
        Ok(Created { body, replayed: false })
    }

    pub(super) async fn nc_currency(
        &self,
        network: &str,
        currency: &str,
    ) -> Result<&'static Currency, NcPayoutError> {
        let network: Network =
            network.to_ascii_lowercase().parse().map_err(|_| NcPayoutError::UnsupportedNetwork)?;
        self.nc_payers(network)?;
        let market = self.market().await?;
        let offer = market.resolve(currency, Some(network.name()));
        Ok(offer.ok_or(NcPayoutError::UnsupportedCurrency)?.currency)
    }

    /// A payment to one of our own deposit addresses would pay an invoice or an order and count as
    /// paid out.
    async fn refuse_own_outputs(
        &self,
        currency: &Currency,
        recipients: &[Recipient],
    ) -> Result<(), NcPayoutError> {
        let mut faults = self.own_output_faults(currency, recipients).await?;
        faults.truncate(FAULTS_MAX);
        if faults.is_empty() { Ok(()) } else { Err(NcPayoutError::Rows(faults)) }
    }

    /// The recipients at addresses of ours, as faults.
    pub(super) async fn own_output_faults(
        &self,
        currency: &Currency,
        recipients: &[Recipient],
    ) -> Result<Vec<RowFault>, StorageError> {
        let family = currency.family();
        let key = |recipient: &Recipient| address::match_key(family, &recipient.address);
        let keys: Vec<_> = recipients.iter().map(key).collect();
        let mut connection = self.db.connection().await?;
        let own = items::own_addresses(&mut connection, family.name(), &keys).await?;
        let fault = |recipient: &Recipient| RowFault {
            row: recipient.row,
            column: Column::Address,
            reason: Reason::OwnAddress,
            value: shown(&recipient.address),
        };
        let ours = recipients.iter().filter(|recipient| own.contains(&key(recipient)));
        Ok(ours.map(fault).collect())
    }

    fn new_row(
        &self,
        merchant_id: Uuid,
        plan: &Plan<'_>,
        built: &Built,
        now: DateTime<Utc>,
    ) -> NcPayout {
        NcPayout {
            id: Uuid::now_v7(),
            payout_id: nc_payout::id(),
            merchant_id,
            state: State::AwaitingSignature,
            currency: plan.currency,
            chain_id: built.chain_id,
            sender: plan.sender.to_owned(),
            fee_level: plan.fee_level,
            required_confirmations: None,
            expires_at: now + self.signing_window(),
            look_at: Some(now + self.signing_window()),
            created_at: now,
            submitted_at: None,
            ended_at: None,
            updated_at: now,
        }
    }

    pub(super) fn signing_window(&self) -> TimeDelta {
        TimeDelta::seconds(i64::from(self.config.payouts.signing_seconds))
    }

    /// Confirmations after which the payout's transactions are final: as decided when it was
    /// submitted, and the usual ones before that.
    pub(super) fn required_of_nc(&self, payout: &NcPayout) -> u64 {
        let usual = self.config.chain(payout.currency.network).confirmations;
        payout.required_confirmations.unwrap_or(usual)
    }
}

fn output(recipient: &Recipient) -> OutputRow {
    OutputRow {
        address: recipient.address.clone(),
        amount: recipient.amount,
        reference: recipient.reference.clone(),
    }
}

async fn replay(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    request: &NewNcPayout,
) -> Result<Option<Created>, NcPayoutError> {
    let Some(wanted) = &request.idempotency else { return Ok(None) };
    match nc_payouts::kept_answer(connection, merchant_id, &wanted.key).await? {
        None => Ok(None),
        Some(kept) if kept.request_sha256 == wanted.request_sha256 => {
            Ok(Some(Created { body: kept.response, replayed: true }))
        }
        Some(_) => Err(NcPayoutError::IdempotencyConflict),
    }
}
