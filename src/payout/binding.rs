//! The binding of an order: one text of all that decides over its money, over which a keyed digest
//! is made.
//!
//! It covers recipients, sums, prices, the order's own address and where its refund goes. Each
//! field is preceded by its length and each optional one by a sign that it is there, so that no two
//! orders have one text.

use rust_decimal::Decimal;
use uuid::Uuid;

use crate::money::BaseUnits;

/// What the digest is for. Another layout gets another name.
pub const PURPOSE: &[u8] = b"payout order, binding 1";

/// A row of an order as the binding covers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundRow {
    pub id: Uuid,
    pub row_number: i32,
    pub address: String,
    pub amount: BaseUnits,
    pub net_amount: BaseUnits,
}

/// The terms of an order beside its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms<'a> {
    pub id: Uuid,
    pub order_id: &'a str,
    pub merchant_id: Uuid,
    pub token_id: String,
    pub fee_mode: &'a str,
    pub refund_address: Option<&'a str>,
    /// The order's own address and the index of its key; none before it is confirmed.
    pub deposit: Option<(&'a str, i64)>,
    pub payout_total: BaseUnits,
    pub total_to_send: BaseUnits,
    pub network_fee: BaseUnits,
    pub service_fee: BaseUnits,
    pub fee_rate: u128,
    /// Limits are measured in them.
    pub native_price_usd: Decimal,
    pub asset_price_usd: Decimal,
}

/// The text that is bound. `rows` stand in the order of their numbers.
pub fn text(terms: &Terms<'_>, rows: &[BoundRow]) -> Vec<u8> {
    let mut text = Text::default();
    text.field(terms.id.as_bytes());
    text.field(terms.order_id.as_bytes());
    text.field(terms.merchant_id.as_bytes());
    text.field(terms.token_id.as_bytes());
    text.field(terms.fee_mode.as_bytes());
    text.option(terms.refund_address.map(str::as_bytes));
    text.option(terms.deposit.map(|(address, _)| address.as_bytes()));
    text.option(terms.deposit.map(|(_, index)| index.to_be_bytes()).as_ref().map(|i| &i[..]));
    let sums = [terms.payout_total, terms.total_to_send, terms.network_fee, terms.service_fee];
    sums.map(BaseUnits::get).iter().for_each(|sum| text.field(&sum.to_be_bytes()));
    text.field(&terms.fee_rate.to_be_bytes());
    for price in [terms.native_price_usd, terms.asset_price_usd] {
        text.field(price.normalize().to_string().as_bytes());
    }
    for row in rows {
        text.field(row.id.as_bytes());
        text.field(&row.row_number.to_be_bytes());
        text.field(row.address.as_bytes());
        text.field(&row.amount.get().to_be_bytes());
        text.field(&row.net_amount.get().to_be_bytes());
    }
    text.0
}

#[derive(Default)]
struct Text(Vec<u8>);

impl Text {
    fn field(&mut self, bytes: &[u8]) {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.0.extend_from_slice(&length.to_be_bytes());
        self.0.extend_from_slice(bytes);
    }

    fn option(&mut self, bytes: Option<&[u8]>) {
        self.field(&[u8::from(bytes.is_some())]);
        if let Some(bytes) = bytes {
            self.field(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> Terms<'static> {
        Terms {
            id: Uuid::from_u128(1),
            order_id: "empo_1",
            merchant_id: Uuid::from_u128(2),
            token_id: "usdt@polygon".to_owned(),
            fee_mode: "sender",
            refund_address: Some("0xr"),
            deposit: Some(("0xd", 7)),
            payout_total: BaseUnits::new(10),
            total_to_send: BaseUnits::new(13),
            network_fee: BaseUnits::new(2),
            service_fee: BaseUnits::new(1),
            fee_rate: 30,
            native_price_usd: Decimal::new(5, 1),
            asset_price_usd: Decimal::ONE,
        }
    }

    fn row(number: i32) -> BoundRow {
        BoundRow {
            id: Uuid::from_u128(100 + u128::try_from(number).unwrap()),
            row_number: number,
            address: format!("0x{number}"),
            amount: BaseUnits::new(5),
            net_amount: BaseUnits::new(5),
        }
    }

    /// One change each; a field that is forgotten in the text makes its change the same text.
    #[test]
    fn every_change_of_an_order_is_another_text() {
        let (one, other) = (BaseUnits::new(1_000), "other");
        let mut texts = vec![text(&terms(), &[row(1), row(2)])];
        let changed = [
            Terms { id: Uuid::from_u128(9), ..terms() },
            Terms { order_id: other, ..terms() },
            Terms { merchant_id: Uuid::from_u128(9), ..terms() },
            Terms { token_id: other.to_owned(), ..terms() },
            Terms { fee_mode: other, ..terms() },
            Terms { refund_address: Some(other), ..terms() },
            Terms { refund_address: None, ..terms() },
            Terms { refund_address: Some(""), ..terms() },
            Terms { deposit: Some((other, 7)), ..terms() },
            Terms { deposit: Some(("0xd", 8)), ..terms() },
            Terms { deposit: None, ..terms() },
            Terms { payout_total: one, ..terms() },
            Terms { total_to_send: one, ..terms() },
            Terms { network_fee: one, ..terms() },
            Terms { service_fee: one, ..terms() },
            Terms { fee_rate: 31, ..terms() },
            Terms { native_price_usd: Decimal::TWO, ..terms() },
            Terms { asset_price_usd: Decimal::TWO, ..terms() },
        ];
        texts.extend(changed.iter().map(|terms| text(terms, &[row(1), row(2)])));
        let rows = [
            vec![],
            vec![row(1)],
            vec![row(2), row(1)],
            vec![row(1), row(2), row(3)],
            vec![row(1), BoundRow { id: Uuid::from_u128(9), ..row(2) }],
            vec![row(1), BoundRow { row_number: 9, ..row(2) }],
            vec![row(1), BoundRow { address: other.into(), ..row(2) }],
            vec![row(1), BoundRow { amount: one, ..row(2) }],
            vec![row(1), BoundRow { net_amount: one, ..row(2) }],
        ];
        texts.extend(rows.iter().map(|rows| text(&terms(), rows)));
        let distinct: std::collections::HashSet<_> = texts.iter().collect();
        assert_eq!(distinct.len(), texts.len());
    }

    #[test]
    fn a_price_is_bound_by_its_value_however_many_digits_are_stored() {
        let stored = Terms { native_price_usd: Decimal::new(500_000_000_000, 12), ..terms() };
        assert_eq!(text(&stored, &[]), text(&terms(), &[]));
    }
}
