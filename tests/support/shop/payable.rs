//! Open invoices, inserted as rows: faster than over the API, for tests that need many.

use gateway::invoice::PaymentId;
use sqlx::PgConnection;
use uuid::Uuid;

/// An open invoice over 20 USDT on Polygon.
pub struct Payable {
    pub payment_id: String,
    pub invoice: Uuid,
    pub address_id: Uuid,
    /// As transfers name it.
    pub address: String,
}

impl Payable {
    /// Inserts an invoice, with the URL for its events, if it has any.
    pub async fn insert(connection: &mut PgConnection, merchant: Uuid, url: Option<&str>) -> Self {
        let payable = Self {
            payment_id: PaymentId::generate().to_string(),
            invoice: Uuid::now_v7(),
            address_id: Uuid::now_v7(),
            address: format!("0x{}", hex::encode(rand::random::<[u8; 20]>())),
        };
        sqlx::query(
            "with made as (
                 insert into invoice (id, payment_id, merchant_id, status, price_amount, price_currency, pricing_mode,
                     token_id, network, decimals, pay_address, pay_amount, overpay_bps, ipn_callback_url,
                     payment_window_seconds, window_seconds, deadline_at)
                 values ($1, $2, $3, 'pending', 20, 'usd', 'fiat', 'usdtmatic@polygon', 'polygon', 6, $4, 20000000, 500, $5,
                     1800, 1800, now() + interval '30 minutes')
                 returning id
             )
             insert into deposit_address (id, family, address, match_key, derivation_index, network, invoice_id)
             select $6, 'evm', $4, $4, nextval('address_index_evm'), 'polygon', id from made",
        )
        .bind(payable.invoice)
        .bind(&payable.payment_id)
        .bind(merchant)
        .bind(&payable.address)
        .bind(url)
        .bind(payable.address_id)
        .execute(connection)
        .await
        .unwrap();
        payable
    }
}
