//! The errors of an endpoint, as answers of its operation: one per status, listing the codes that come with it.

use std::collections::BTreeMap;

use axum::http::{Method, StatusCode};
use serde_json::json;
use utoipa::openapi::{
    Content, Header, PathItem, Ref, RefOr, Response, ResponseBuilder,
    path::Operation,
    schema::{AllOfBuilder, ObjectBuilder, Schema, Type},
    security::SecurityRequirement,
};

use super::MERCHANT_KEY;
use crate::{Access, Endpoint, error::ApiError};

/// What every merchant endpoint can answer before it looks at the request.
const MERCHANT_ERRORS: [ApiError; 5] = [
    ApiError::ApiKeyMissing,
    ApiError::ApiKeyMalformed,
    ApiError::ApiKeyNotFound,
    ApiError::MerchantSuspended,
    ApiError::RateLimitExceeded,
];

pub(super) fn operation<'a>(
    item: &'a mut PathItem,
    endpoint: &Endpoint,
) -> Option<&'a mut Operation> {
    match endpoint.method {
        Method::POST => item.post.as_mut(),
        _ => item.get.as_mut(),
    }
}

/// Adds to `operation` all errors of `endpoint`, and the key where it asks for one.
pub(super) fn describe(operation: &mut Operation, endpoint: &Endpoint) {
    if endpoint.access == Access::Merchant {
        let none: [&str; 0] = [];
        operation.security = Some(vec![SecurityRequirement::new(MERCHANT_KEY, none)]);
    }
    let common: &[ApiError] =
        if endpoint.access == Access::Merchant { &MERCHANT_ERRORS } else { &[] };
    let own = endpoint.errors.iter();
    let mut by_status = BTreeMap::<StatusCode, Vec<&ApiError>>::new();
    for error in own.chain(common).chain([&ApiError::Internal]) {
        by_status.entry(error.status_and_code().0).or_default().push(error);
    }
    let envelope =
        if endpoint.path == "/v1/invoices/{id}/status" { "SluggedError" } else { "Envelope" };
    for (status, errors) in by_status {
        let answer = answer(status, &errors, envelope);
        operation.responses.responses.insert(status.as_str().to_owned(), RefOr::T(answer));
    }
}

fn answer(status: StatusCode, errors: &[&ApiError], envelope: &str) -> Response {
    let codes = errors.iter().map(|error| error.status_and_code().1);
    let sentences: Vec<_> = errors
        .iter()
        .map(|error| format!("`{}`: {}.", error.status_and_code().1, error.meaning()))
        .collect();
    let narrowed = ObjectBuilder::new()
        .property(
            "statusCode",
            ObjectBuilder::new().schema_type(Type::Integer).enum_values(Some([status.as_u16()])),
        )
        .property("code", ObjectBuilder::new().schema_type(Type::String).enum_values(Some(codes)));
    let schema = AllOfBuilder::new().item(Ref::from_schema_name(envelope)).item(narrowed);
    let example = errors.first().map(|error| json!(error.envelope()));
    let mut content = Content::new(Some(RefOr::T(Schema::AllOf(schema.build()))));
    content.example = example;
    let mut response = ResponseBuilder::new()
        .description(sentences.join(" "))
        .content("application/json", content);
    for (name, description) in headers(errors) {
        let mut header = Header::new(ObjectBuilder::new().schema_type(Type::Integer));
        header.description = Some(description.to_owned());
        response = response.header(name, header);
    }
    response.build()
}

/// The headers that tell a client how to behave.
fn headers(errors: &[&ApiError]) -> Vec<(&'static str, &'static str)> {
    let any = |found: fn(&ApiError) -> bool| errors.iter().any(|error| found(error));
    let mut headers = Vec::new();
    if any(|error| matches!(error, ApiError::RateLimitExceeded | ApiError::PolledTooOften)) {
        headers
            .push(("Retry-After", "Seconds to wait, with `RATE_LIMIT_EXCEEDED` only: always 60."));
    }
    if any(|error| matches!(error, ApiError::RateLimitExceeded)) {
        headers.push((
            "X-RateLimit-Limit",
            "Requests per rolling 60 seconds, with `RATE_LIMIT_EXCEEDED` only: always 60.",
        ));
    }
    headers
}
