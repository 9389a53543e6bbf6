//! OpenAPI description of non-custodial payouts, with their own error codes.

use axum::http::StatusCode;
use gateway::nc_payout::schema;
use serde_json::{Value, json};
use utoipa::{
    OpenApi,
    openapi::{
        self,
        schema::{ObjectBuilder, Type},
    },
};

use super::{
    errors::{self, Refusal, Words},
    never_null,
};
use crate::nc_payout::{self, PATH, code::Code, problem, route};

#[derive(OpenApi)]
#[openapi(
    paths(route::create, route::list, route::read, route::refresh, route::submit, route::cancel),
    // Errors and parameters refer to these schemas, but utoipa does not collect them by itself.
    components(schemas(problem::Envelope<'_>, schema::NcStateAsked)),
)]
struct Operations;

const TAG: &str = "Payouts that merchants sign";

pub(super) fn add_to(document: &mut openapi::OpenApi) {
    let mut described = Operations::openapi();
    let paths = std::mem::take(&mut described.paths.paths);
    document.merge(described);
    for (path, mut item) in paths {
        for row in nc_payout::operations().iter().filter(|row| row.path == path) {
            if let Some(operation) = errors::operation(&mut item, &row.method) {
                complete(operation, row.codes);
            }
        }
        let path = format!("{PATH}{path}").trim_end_matches('/').to_owned();
        document.paths.paths.insert(path, item);
    }
}

fn complete(operation: &mut openapi::path::Operation, codes: &[Code]) {
    operation.tags = Some(vec![TAG.to_owned()]);
    operation.parameters.iter_mut().flatten().for_each(never_null);
    errors::ask_for_key(operation);
    let words = Words { envelope: "NcPayoutProblem", narrowed, example };
    errors::refuse(operation, codes.iter().chain(Code::OF_ALL).map(refusal), &words);
}

fn refusal(code: &Code) -> Refusal {
    let limited = *code == Code::RateLimitExceeded;
    Refusal {
        status: code.status(),
        code: code.as_str(),
        meaning: code.meaning(),
        says_when: limited,
        says_how_much: limited,
    }
}

fn narrowed(_: StatusCode, codes: Vec<&'static str>) -> ObjectBuilder {
    let code = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(codes));
    ObjectBuilder::new().property("error", ObjectBuilder::new().property("code", code))
}

fn example(refusal: &Refusal) -> Value {
    json!({ "ok": false, "error": { "code": refusal.code, "message": refusal.meaning } })
}
