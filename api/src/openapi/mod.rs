//! The OpenAPI 3.1 document, generated from the handlers, the types that write the answers, and the
//! table of endpoints.
//!
//! `api/openapi.json` is the document as it is now, `api/openapi.released.json` as it was at the
//! last release; tests hold the first to the code, and the change between the two to additions
//! (spec, "Versioning").

#[cfg(test)]
mod additive;
mod errors;
mod ipns;
mod nc_payouts;
mod payouts;

use std::sync::LazyLock;

use gateway::invoice::schema;
use utoipa::{
    Modify, OpenApi,
    openapi::{
        RefOr, Schema, Server,
        path::Parameter,
        schema::SchemaType,
        security::{ApiKey, ApiKeyValue, SecurityScheme},
    },
};

use crate::{
    balance, buyer_status, buyer_status::wire::SluggedError, catalogue, endpoints, error::Envelope,
    event, export, link, nowpayments, payment, sandbox, status, subscription, till, x402,
};

/// The name of the merchant's key in the document.
const MERCHANT_KEY: &str = "merchantKey";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Crypto payment gateway",
        description = include_str!("description.md"),
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    paths(
        payment::route::create,
        payment::route::read,
        payment::route::list,
        payment::deposits::list,
        balance::route::read,
        subscription::route::list,
        subscription::route::read,
        subscription::route::cancel,
        subscription::route::advance,
        link::route::create,
        link::route::list,
        link::route::read,
        link::route::change,
        till::route::create,
        till::route::list,
        till::route::revoke,
        nowpayments::route::full_currencies,
        nowpayments::route::merchant_coins,
        nowpayments::route::create_invoice,
        sandbox::route::deposit,
        sandbox::route::expire,
        event::route::list,
        event::route::read,
        event::route::resend,
        event::bulk::send,
        event::test_event::send,
        export::route::read,
        export::report::list,
        export::report::read,
        catalogue::route::currencies,
        catalogue::route::estimate,
        catalogue::route::min_amount,
        buyer_status::route::status,
        x402::catalogue::discovery,
        x402::facilitator::supported,
        x402::facilitator::verify,
        x402::facilitator::settle,
        x402::resource::create,
        x402::resource::list,
        x402::resource::read,
        x402::resource::delete,
        x402::catalogue::list,
        x402::catalogue::search,
        x402::pay::pay,
        status::status,
    ),
    // Named by parameters and errors, where nothing collects them by itself.
    components(schemas(Envelope, SluggedError, schema::DecimalText, schema::WholeNumber)),
    tags(
        (name = "Invoices", description = "For merchants, with their API key."),
        (name = "Balance", description = "What the ledger says a merchant has. For merchants, with their API key."),
        (name = "Payment links", description = "Pages whose visitors create invoices: a fixed price, an open one, donations, subscriptions; and tills with their devices. For merchants, with their API key."),
        (name = "Events", description = "What happened, with a webhook or without. For merchants, with their API key."),
        (name = "Accounting", description = "Files for bookkeepers and tax programs. For merchants, with their API key."),
        (name = "Prices", description = "The currencies to pay with, and present prices."),
        (name = "NOWPayments", description = "Views of the above in NOWPayments' shapes, for clients that were written for it. For merchants, with their API key."),
        (name = "Sandbox", description = "Payments and expiries without a chain or a wait, for a merchant's own tests. In production these paths do not exist."),
        (name = "x402", description = "Programs pay over HTTP by a signature: a facilitator for the protocol's own clients, a merchant's resources, and a paywall for every invoice."),
        (name = "Buyers", description = "For buyers: the invoice's id is the only credential."),
        (name = "Service", description = "For monitoring."),
        (name = "Payouts on bitcoin, litecoin, dogecoin", description = "One transaction pays many. For merchants, with their API key."),
        (name = "Payouts on EVM networks", description = "One transaction per recipient, or one for many rows of a token. For merchants, with their API key."),
        (name = "Payouts that merchants sign", description = "The gateway builds and checks the transactions, the merchant signs them with his own wallet, and the gateway broadcasts and follows them. For merchants, with their API key."),
        (name = "Payment webhooks", description = "Signed POSTs to the invoice's `ipn_callback_url`."),
        (name = "Payout webhooks", description = "Signed POSTs to the order's `callbackUrl`, or to the URL in the merchant's settings."),
    ),
    modifiers(&Completed),
)]
struct Document;

/// The parts that follow from the table of endpoints: the access to each, and every error that it
/// can answer.
struct Completed;

impl Modify for Completed {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        // Relative to where the document lies.
        document.servers = Some(vec![Server::new("/")]);
        let key = ApiKey::Header(ApiKeyValue::with_description(
            "x-api-key",
            "64 hex characters, shown once when the merchant is created or its key rotated.",
        ));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme(MERCHANT_KEY, SecurityScheme::ApiKey(key));
        for endpoint in endpoints() {
            let item = document.paths.paths.get_mut(endpoint.path);
            let operation = item.and_then(|item| errors::operation(item, &endpoint.method));
            let Some(operation) = operation else { continue };
            errors::describe(operation, &endpoint);
            operation.parameters.iter_mut().flatten().for_each(never_null);
        }
        payouts::add_to(document);
        nc_payouts::add_to(document);
        ipns::add_to(document);
    }
}

/// A parameter may be absent, but text in a URL or a header is never null, whatever its Rust type
/// says.
fn never_null(parameter: &mut RefOr<Parameter>) {
    let RefOr::T(Parameter { schema: Some(RefOr::T(Schema::Object(object))), .. }) = parameter
    else {
        return;
    };
    if let SchemaType::Array(types) = &object.schema_type
        && let Some(first) = types.first()
    {
        object.schema_type = SchemaType::Type(first.clone());
    }
}

/// The document as JSON text, the same for the life of the process.
pub fn json() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let text = Document::openapi().to_pretty_json();
        text.expect("the document is plain data, as the test of the committed file shows") + "\n"
    });
    &TEXT
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;
    use serde_json::Value;

    use super::*;
    use crate::{nc_payout, payout};

    /// `UPDATE_EXPECT=1` writes it anew; the difference is the change that clients will see.
    #[test]
    fn the_committed_document_is_what_the_code_generates() {
        expect_file!["../../openapi.json"].assert_eq(json());
    }

    /// Served beside the API, but no part of its promise.
    const UNDESCRIBED: [&str; 1] = ["/v1/openapi.json"];

    #[test]
    fn every_endpoint_is_described_and_nothing_else() {
        let document: Value = serde_json::from_str(json()).unwrap();
        let paths = document["paths"].as_object().unwrap();
        let mut described: Vec<_> = paths
            .iter()
            .flat_map(|(path, item)| {
                let methods = item.as_object().unwrap().keys();
                methods.map(move |method| format!("{} {path}", method.to_uppercase()))
            })
            .collect();
        described.sort();
        let served = endpoints().into_iter().filter(|e| !UNDESCRIBED.contains(&e.path));
        let mut served: Vec<_> = served.map(|e| format!("{} {}", e.method, e.path)).collect();
        for family in gateway::payout::PayoutFamily::ALL {
            served.extend(payout::operations().iter().map(|row| {
                let path = format!("{}{}", payout::path(family), row.path);
                format!("{} {}", row.method, path.trim_end_matches('/'))
            }));
        }
        served.extend(nc_payout::operations().iter().map(|row| {
            let path = format!("{}{}", nc_payout::PATH, row.path);
            format!("{} {}", row.method, path.trim_end_matches('/'))
        }));
        served.sort();
        assert_eq!(described, served);
    }

    #[test]
    fn every_field_parameter_and_header_says_what_it_means() {
        let document: Value = serde_json::from_str(json()).unwrap();
        let mut mute = Vec::new();
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            walk(name, schema, &document, &mut mute);
        }
        let asked = document["paths"].as_object().unwrap();
        for (path, item) in asked.iter().chain(document["webhooks"].as_object().unwrap()) {
            for (method, operation) in item.as_object().unwrap() {
                let parameters = operation["parameters"].as_array();
                for parameter in parameters.into_iter().flatten() {
                    if parameter["description"].as_str().is_none_or(str::is_empty) {
                        mute.push(format!("{method} {path}: {}", parameter["name"]));
                    }
                }
            }
        }
        assert!(mute.is_empty(), "say what these mean: {mute:#?}");
    }

    fn walk(name: &str, schema: &Value, document: &Value, mute: &mut Vec<String>) {
        for part in schema["allOf"].as_array().into_iter().flatten() {
            walk(name, part, document, mute);
        }
        for (field, described) in schema["properties"].as_object().into_iter().flatten() {
            if !says_something(described, document) {
                mute.push(format!("{name}.{field}"));
            }
        }
    }

    /// In its own words, or in those of the part that it refers to.
    fn says_something(schema: &Value, document: &Value) -> bool {
        let own = schema["description"].as_str().is_some_and(|text| !text.is_empty());
        let referred = schema["$ref"].as_str().and_then(|path| document.pointer(&path[1..]));
        let variants = schema["oneOf"].as_array().into_iter().flatten();
        own || referred.is_some_and(|schema| says_something(schema, document))
            || variants.into_iter().any(|schema| says_something(schema, document))
            || schema["items"].is_object() && says_something(&schema["items"], document)
    }
}
