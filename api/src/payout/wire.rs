//! Responses of the payout API: `{ "ok": true, "data": … }`.

use std::{borrow::Cow, marker::PhantomData};

use gateway::{
    asset::catalogue::Currency,
    invoice::schema as values,
    payout::{
        order::{Batch, Order},
        schema,
    },
    storage::payouts::items::ItemRow,
};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Ref, RefOr,
        schema::{ArrayBuilder, ObjectBuilder, Schema, Type},
    },
};

/// Schema of the response that [`data`] writes, `{ "ok": true, "data": … }` with one object; never
/// constructed.
pub struct Answer<T>(PhantomData<T>);

/// Response with a complete list.
#[derive(Serialize)]
pub struct List<T> {
    ok: bool,
    data: Vec<T>,
}

impl<T> List<T> {
    pub const fn of(data: Vec<T>) -> Self {
        Self { ok: true, data }
    }
}

/// Response body with one already rendered object.
pub fn data(object: &str) -> String {
    format!(r#"{{"ok":true,"data":{object}}}"#)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    ok: bool,
    data: Vec<T>,
    limit: i64,
    page: i64,
    /// Number of pages; at least 1, even if there are no entries.
    pages_count: i64,
    total: i64,
}

impl<T> Page<T> {
    pub fn new(data: Vec<T>, total: i64, limit: i64, page: i64) -> Self {
        let pages_count = (total.saturating_add(limit - 1) / limit).max(1);
        Self { ok: true, data, limit, page, pages_count, total }
    }
}

/// Wraps already rendered objects.
pub fn rendered(bodies: Vec<String>) -> Vec<Box<RawValue>> {
    bodies.into_iter().filter_map(|body| RawValue::from_string(body).ok()).collect()
}

/// One recipient of an order.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PayoutItem)]
pub struct Item {
    /// `mpi_…`
    id: String,
    /// In a CSV file the line number as a spreadsheet shows it, in JSON the position in `items`,
    /// from 1.
    row_number: i32,
    /// As wallets and explorers write it.
    address: String,
    /// The requested amount.
    #[schema(value_type = schema::RawAmount)]
    amount_raw: String,
    /// The same in whole coins.
    #[schema(value_type = values::DecimalText)]
    amount: String,
    /// The amount that the recipient gets: the requested amount, less the fees if recipients bear
    /// them.
    #[schema(value_type = schema::RawAmount)]
    net_amount_raw: String,
    /// The merchant's own reference, as it was sent.
    #[schema(required)]
    reference: Option<String>,
    /// The merchant's own note, as it was sent; it is not written to the chain.
    #[schema(required)]
    memo: Option<String>,
    /// The batch that it is sent with.
    batch_id: String,
    #[schema(value_type = schema::ItemStateName)]
    state: &'static str,
    /// Hash of the transaction that pays it, or that failed to; null until one is signed.
    #[schema(required)]
    tx_hash: Option<String>,
    /// For people: why it was not paid.
    #[schema(required)]
    error: Option<String>,
}

impl Item {
    pub fn render(row: ItemRow, currency: &Currency) -> Self {
        Self {
            id: row.item_id,
            row_number: row.row_number,
            address: row.address,
            amount_raw: row.amount.get().to_string(),
            amount: row.amount.to_decimal(u32::from(currency.decimals)),
            net_amount_raw: row.net_amount.get().to_string(),
            reference: row.reference,
            memo: row.memo,
            batch_id: row.batch_id,
            state: row.state.as_str(),
            tx_hash: row.tx_hash,
            error: row.error,
        }
    }
}

pub type OrderAnswer = Answer<Order<'static>>;
pub type OrderPage = Page<Order<'static>>;
pub type ItemPage = Page<Item>;
pub type BatchList = List<Batch<'static>>;

/// Implements the schema of wrappers around a `T` by reference to its name, not field by field as
/// derived generics would.
macro_rules! wraps {
    ($($wrapper:ident, $suffix:literal, $described:ident;)*) => {$(
        impl<T: ToSchema> PartialSchema for $wrapper<T> {
            fn schema() -> RefOr<Schema> {
                $described(Ref::from_schema_name(T::name())).into()
            }
        }

        impl<T: ToSchema> ToSchema for $wrapper<T> {
            fn name() -> Cow<'static, str> {
                format!("{}{}", T::name(), $suffix).into()
            }

            fn schemas(all: &mut Vec<(String, RefOr<Schema>)>) {
                all.push((T::name().into_owned(), T::schema()));
                all.push((values::True::name().into_owned(), values::True::schema()));
                T::schemas(all);
            }
        }
    )*};
}

wraps! {
    Answer, "Answer", answer;
    List, "List", list;
    Page, "Page", page;
}

fn answer(data: impl Into<RefOr<Schema>>) -> ObjectBuilder {
    let ok = Ref::from_schema_name(values::True::name());
    ObjectBuilder::new().property("ok", ok).required("ok").property("data", data).required("data")
}

fn list(entry: Ref) -> ObjectBuilder {
    answer(ArrayBuilder::new().items(entry))
}

fn page(entry: Ref) -> ObjectBuilder {
    let number = |text: &str, least: i64| {
        let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(least));
        number.description(Some(text))
    };
    [
        ("limit", "Entries per page, after clamping.", 1),
        ("page", "0-based, after clamping.", 0),
        ("pagesCount", "Number of pages; at least 1, even if there are no entries.", 1),
        ("total", "Entries on all pages.", 0),
    ]
    .into_iter()
    .fold(list(entry), |page, (name, text, least)| {
        page.property(name, number(text, least)).required(name)
    })
}
