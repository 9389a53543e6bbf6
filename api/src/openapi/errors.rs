//! The refusals of an endpoint, as answers of its operation: one per status, listing the codes that
//! come with it.

use std::collections::BTreeMap;

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use utoipa::openapi::{
    Content, Header, PathItem, Ref, RefOr, Response, ResponseBuilder,
    path::Operation,
    schema::{AllOfBuilder, ObjectBuilder, Schema, Type},
    security::SecurityRequirement,
};

use super::MERCHANT_KEY;
use crate::{Access, Endpoint, error::ApiError};

/// Errors that every merchant endpoint can answer before it looks at the request.
const MERCHANT_ERRORS: [ApiError; 5] = [
    ApiError::ApiKeyMissing,
    ApiError::ApiKeyMalformed,
    ApiError::ApiKeyNotFound,
    ApiError::MerchantSuspended,
    ApiError::RateLimitExceeded,
];

/// One refusal, the same for every family of endpoints.
pub(super) struct Refusal {
    pub status: StatusCode,
    pub code: &'static str,
    pub meaning: &'static str,
    /// Whether `Retry-After` comes with it.
    pub says_when: bool,
    /// Whether `X-RateLimit-Limit` comes with it.
    pub says_how_much: bool,
}

/// The form in which a family of endpoints writes its refusals.
pub(super) struct Words {
    /// The schema of all of them.
    pub envelope: &'static str,
    /// The part of it with one status and some codes.
    pub narrowed: fn(StatusCode, Vec<&'static str>) -> ObjectBuilder,
    pub example: fn(&Refusal) -> Value,
}

pub(super) fn operation<'a>(item: &'a mut PathItem, method: &Method) -> Option<&'a mut Operation> {
    match *method {
        Method::POST => item.post.as_mut(),
        Method::PATCH => item.patch.as_mut(),
        Method::DELETE => item.delete.as_mut(),
        _ => item.get.as_mut(),
    }
}

/// Says that `operation` asks for a merchant's key.
pub(super) fn ask_for_key(operation: &mut Operation) {
    let none: [&str; 0] = [];
    operation.security = Some(vec![SecurityRequirement::new(MERCHANT_KEY, none)]);
}

/// Adds to `operation` all errors of `endpoint`, and the key where it asks for one.
pub(super) fn describe(operation: &mut Operation, endpoint: &Endpoint) {
    let mut common: &[ApiError] = &[];
    if endpoint.access == Access::Merchant {
        ask_for_key(operation);
        common = &MERCHANT_ERRORS;
    } else {
        // Stated explicitly: without it readers cannot distinguish an open endpoint from a
        // forgotten one.
        operation.security = Some(Vec::new());
    }
    let errors = endpoint.errors.iter().chain(common).chain([&ApiError::Internal]);
    let envelope =
        if endpoint.path == "/v1/invoices/{id}/status" { "SluggedError" } else { "Envelope" };
    let words = Words { envelope, narrowed, example };
    refuse(operation, errors.map(refusal), &words);
}

/// Adds `refusals` to `operation`, in the order in which they are given.
pub(super) fn refuse(
    operation: &mut Operation,
    refusals: impl Iterator<Item = Refusal>,
    words: &Words,
) {
    let mut by_status = BTreeMap::<StatusCode, Vec<Refusal>>::new();
    for refusal in refusals {
        by_status.entry(refusal.status).or_default().push(refusal);
    }
    for (status, refusals) in by_status {
        let answer = answer(status, &refusals, words);
        operation.responses.responses.insert(status.as_str().to_owned(), RefOr::T(answer));
    }
}

fn refusal(error: &ApiError) -> Refusal {
    let (status, code) = error.status_and_code();
    let says_how_much = matches!(error, ApiError::RateLimitExceeded);
    let says_when =
        says_how_much || matches!(error, ApiError::PolledTooOften | ApiError::TooManyExports);
    Refusal { status, code, meaning: error.meaning(), says_when, says_how_much }
}

fn narrowed(status: StatusCode, codes: Vec<&'static str>) -> ObjectBuilder {
    let status = status.as_u16();
    let text = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(codes));
    let number = ObjectBuilder::new().schema_type(Type::Integer).enum_values(Some([status]));
    ObjectBuilder::new().property("statusCode", number).property("code", text)
}

fn example(refusal: &Refusal) -> Value {
    let Refusal { status, code, meaning, .. } = refusal;
    json!({ "statusCode": status.as_u16(), "code": code, "message": meaning })
}

fn answer(status: StatusCode, refusals: &[Refusal], words: &Words) -> Response {
    let mut codes: Vec<_> = refusals.iter().map(|refusal| refusal.code).collect();
    // One code may have two reasons.
    let mut seen = std::collections::BTreeSet::new();
    codes.retain(|code| seen.insert(*code));
    let sentences: Vec<_> = refusals
        .iter()
        .map(|refusal| format!("`{}`: {}.", refusal.code, refusal.meaning))
        .collect();
    let narrowed = (words.narrowed)(status, codes);
    let schema = AllOfBuilder::new().item(Ref::from_schema_name(words.envelope)).item(narrowed);
    let mut content = Content::new(Some(RefOr::T(Schema::AllOf(schema.build()))));
    content.example = refusals.first().map(words.example);
    let mut response = ResponseBuilder::new()
        .description(sentences.join(" "))
        .content("application/json", content);
    for (name, description) in headers(refusals) {
        let mut header = Header::new(ObjectBuilder::new().schema_type(Type::Integer));
        header.description = Some(description);
        response = response.header(name, header);
    }
    response.build()
}

/// The headers that guide a client's next request.
fn headers(refusals: &[Refusal]) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    if let Some(refusal) = refusals.iter().find(|refusal| refusal.says_when) {
        let text = format!("Seconds to wait, with `{}` only: always 60.", refusal.code);
        headers.push(("Retry-After", text));
    }
    if let Some(refusal) = refusals.iter().find(|refusal| refusal.says_how_much) {
        let text =
            format!("Requests per rolling 60 seconds, with `{}` only: always 60.", refusal.code);
        headers.push(("X-RateLimit-Limit", text));
    }
    headers
}
