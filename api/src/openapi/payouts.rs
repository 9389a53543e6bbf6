//! Both families of payouts, described once and shown under each path; and the webhooks that report
//! on their orders.

use axum::http::StatusCode;
use gateway::{
    payout::{EventType, PayoutFamily, order::Order, schema},
    webhook::payout as webhook,
};
use serde_json::{Value, json};
use utoipa::{
    OpenApi,
    openapi::{
        self, Content, HttpMethod, PathItem, Paths, Ref, RefOr, Required, ResponseBuilder,
        path::{OperationBuilder, ParameterBuilder, ParameterIn},
        request_body::RequestBodyBuilder,
        schema::{AllOfBuilder, ObjectBuilder, Schema, Type},
    },
};

use super::{
    errors::{self, Refusal, Words},
    never_null,
};
use crate::payout::{self, kind::Kind, problem, route};

#[derive(OpenApi)]
#[openapi(
    paths(
        route::create,
        route::list,
        route::template,
        route::read,
        route::items,
        route::batches,
        route::report,
        route::confirm,
        route::refresh,
        route::cancel,
    ),
    // Named by refusals and webhooks, where nothing collects them by itself.
    components(schemas(
        problem::Envelope<'_>,
        webhook::Envelope<'_>,
        Order<'_>,
        schema::OrderStateAsked,
        schema::ItemStateAsked,
    )),
)]
struct Operations;

const TAG_OF_WEBHOOKS: &str = "Payout webhooks";

/// The name of a family in the document, and its prefix in the ids of its operations.
const fn names(family: PayoutFamily) -> (&'static str, &'static str) {
    match family {
        PayoutFamily::Utxo => ("Payouts on bitcoin, litecoin, dogecoin", "MassPayout"),
        PayoutFamily::Evm => ("Payouts on EVM networks", "EvmMassPayout"),
    }
}

pub(super) fn add_to(document: &mut openapi::OpenApi) {
    for family in PayoutFamily::ALL {
        let mut described = Operations::openapi();
        let paths = std::mem::take(&mut described.paths.paths);
        document.merge(described);
        for (path, mut item) in paths {
            for row in payout::operations().iter().filter(|row| row.path == path) {
                if let Some(operation) = errors::operation(&mut item, &row.method) {
                    complete(operation, family, row.kinds);
                }
            }
            let path = format!("{}{path}", payout::path(family));
            let path = path.trim_end_matches('/').to_owned();
            document.paths.paths.insert(path, item);
        }
    }
    add_webhooks(document.webhooks.get_or_insert_default());
}

fn complete(operation: &mut openapi::path::Operation, family: PayoutFamily, kinds: &[Kind]) {
    let (tag, name) = names(family);
    operation.tags = Some(vec![tag.to_owned()]);
    operation.operation_id =
        operation.operation_id.as_ref().map(|id| id.replacen("Payout", name, 1));
    operation.parameters.iter_mut().flatten().for_each(never_null);
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        for (content_type, content) in &mut body.content {
            if let RefOr::T(content) = content {
                give_example(content_type, content, family);
            }
        }
    }
    errors::ask_for_key(operation);
    let words = Words { envelope: "PayoutProblem", narrowed, example };
    errors::refuse(operation, kinds.iter().chain(Kind::OF_ALL).map(refusal), &words);
}

/// An order that the sandbox takes.
fn give_example(content_type: &str, content: &mut Content, family: PayoutFamily) {
    let (network, currency, address) = match family {
        PayoutFamily::Utxo => ("litecoin", "ltc", "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9"),
        PayoutFamily::Evm => ("polygon", "usdtmatic", "0x52908400098527886E0F7030069857D2E4169EE7"),
    };
    content.example = match content_type {
        "application/json" if content.example.is_some() => Some(json!({
            "network": network, "currency": currency,
            "items": [{ "address": address, "amount": "1.5", "reference": "inv-1" }],
        })),
        "text/csv" => Some(json!(format!("address,amount,reference\n{address},1.5,inv-1\n"))),
        _ => None,
    };
}

fn refusal(kind: &Kind) -> Refusal {
    let limited = *kind == Kind::RateLimited;
    Refusal {
        status: kind.status(),
        code: kind.as_str(),
        meaning: kind.meaning(),
        says_when: limited,
        says_how_much: limited,
    }
}

fn narrowed(_: StatusCode, kinds: Vec<&'static str>) -> ObjectBuilder {
    let kind = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(kinds));
    ObjectBuilder::new().property("error", ObjectBuilder::new().property("kind", kind))
}

fn example(refusal: &Refusal) -> Value {
    json!({ "ok": false, "error": { "kind": refusal.code, "message": refusal.meaning } })
}

/// The moment at which an event is sent (spec, "Mass-payout webhooks").
const fn fires(event: EventType) -> &'static str {
    match event {
        EventType::Created => "The order was confirmed and waits for its deposit.",
        EventType::QuoteRefreshed => "The order has a new quote.",
        EventType::DepositDetected => {
            "A deposit for the order was detected; it is not confirmed yet."
        }
        EventType::Underfunded => {
            "The confirmed deposits are less than `totalToSendRaw`; the order keeps waiting."
        }
        EventType::Overfunded => {
            "The confirmed deposits exceed `totalToSendRaw`; the surplus is refunded at the end."
        }
        EventType::BatchBroadcasted => "`lastBatch` was sent to the network.",
        EventType::BatchConfirmed => "`lastBatch` is final, and all its rows are paid.",
        EventType::BatchFailed => {
            "`lastBatch` is final, and at least one of its rows was not paid."
        }
        EventType::Completed => "All rows are paid. This is the order's last event.",
        EventType::PartialFailed => {
            "The order ended with at least one unpaid row. This is the order's last event."
        }
        EventType::Expired => {
            "The deposit did not arrive before `expiresAt`. This is the order's last event."
        }
        EventType::Cancelled => {
            "The merchant or an operator cancelled the order. This is the order's last event."
        }
    }
}

fn add_webhooks(all: &mut Paths) {
    for event in EventType::ALL {
        let item = PathItem::new(HttpMethod::Post, webhook_of(event));
        all.paths.insert(event.as_str().to_owned(), item);
    }
}

/// A header that comes with every webhook of a channel.
pub(super) fn sent_header(name: &str, description: &str) -> ParameterBuilder {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::True)
        .description(Some(description))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
}

fn webhook_of(event: EventType) -> OperationBuilder {
    let name = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([event.as_str()]));
    let narrowed = ObjectBuilder::new().property("eventType", name);
    let schema = AllOfBuilder::new().item(Ref::from_schema_name("PayoutWebhook")).item(narrowed);
    let content = Content::new(Some(RefOr::T(Schema::AllOf(schema.build()))));
    let body = RequestBodyBuilder::new().content("application/json", content);
    let answer = |text: &str| ResponseBuilder::new().description(text);
    OperationBuilder::new()
        .tag(TAG_OF_WEBHOOKS)
        .operation_id(Some(event.as_str()))
        .summary(Some(event.as_str()))
        .description(Some(fires(event)))
        .parameter(sent_header(
            "X-Gateway-Signature",
            "HMAC-SHA-256 over the raw bytes of the body, keyed with the text of the webhook secret, in lowercase hex.",
        ))
        .parameter(sent_header(
            "X-Gateway-Event-Id",
            "The same as `eventId`. It is not signed; take the one in the body.",
        ))
        .request_body(Some(body.required(Some(Required::True)).build()))
        .response("2XX", answer("The event counts as delivered."))
        .response("4XX", answer("The event is dropped permanently."))
        .response("default", answer("The delivery is retried after 60 seconds, up to 5 attempts in all."))
}
