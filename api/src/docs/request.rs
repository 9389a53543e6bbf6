//! An operation of the OpenAPI document as a request that can be sent.

use serde_json::Value;

use crate::docs::reference::{each, members, text};

/// The body that is sent as an example: its content type and its text.
pub(super) struct Sample<'a> {
    pub content_type: &'a str,
    pub text: String,
}

/// JSON where the operation takes it, otherwise the first kind that has an example.
pub(super) fn sample(operation: &Value) -> Option<Sample<'_>> {
    let bodies = || members(&operation["requestBody"]["content"]);
    let json = bodies().find(|(content_type, _)| *content_type == "application/json");
    let (content_type, body) =
        json.or_else(|| bodies().find(|(_, body)| body.get("example").is_some()))?;
    let text = match body.get("example") {
        Some(Value::String(file)) => file.clone(),
        Some(example) => serde_json::to_string_pretty(example).unwrap_or_default(),
        None => "{}".to_owned(),
    };
    Some(Sample { content_type, text })
}

/// The example of a parameter; empty without one.
pub(super) fn example(parameter: &Value) -> String {
    let own = [&parameter["example"], &parameter["schema"]["example"]];
    let given = own.into_iter().chain(each(&parameter["schema"]["examples"]));
    match given.into_iter().find(|value| !value.is_null()) {
        Some(Value::String(words)) => words.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

/// Parameters of one place: `path`, `query` or `header`.
pub(super) fn parameters<'a>(
    operation: &'a Value,
    place: &'a str,
) -> impl Iterator<Item = &'a Value> {
    each(&operation["parameters"]).filter(move |parameter| parameter["in"] == place)
}

pub(super) fn takes_key(operation: &Value) -> bool {
    each(&operation["security"]).next().is_some()
}

/// The request as a line for a shell that knows the address, the key and the id.
pub(super) fn curl(method: &str, path: &str, operation: &Value) -> String {
    let query: Vec<_> = parameters(operation, "query")
        .map(|parameter| (text(&parameter["name"]), example(parameter)))
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let mark = if query.is_empty() { "" } else { "?" };
    let address =
        format!("$GATEWAY_BASE_URL{}{mark}{}", path.replace("{id}", "$ID"), query.join("&"));
    let mut line = "curl".to_owned();
    let sample = sample(operation);
    if method == "post" && sample.is_none() {
        line.push_str(" -X POST");
    }
    line.push_str(&format!(" \"{address}\""));
    if takes_key(operation) {
        line.push_str(" -H \"x-api-key: $API_KEY\"");
    }
    if let Some(sample) = sample {
        let quoted = sample.text.replace('\'', "'\\''");
        line.push_str(&format!(" \\\n  -H 'content-type: {}' -d '{quoted}'", sample.content_type));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi;

    #[test]
    fn a_request_has_what_its_operation_needs() {
        let document: Value = serde_json::from_str(openapi::json()).unwrap();
        let line = |method: &str, path: &str| curl(method, path, &document["paths"][path][method]);
        assert_eq!(line("get", "/v1/status"), "curl \"$GATEWAY_BASE_URL/v1/status\"");
        assert_eq!(
            line("post", "/v1/events/{id}/resend"),
            "curl -X POST \"$GATEWAY_BASE_URL/v1/events/$ID/resend\" -H \"x-api-key: $API_KEY\""
        );
        assert_eq!(
            line("get", "/v1/estimate"),
            "curl \"$GATEWAY_BASE_URL/v1/estimate?amount=25&currency_from=usd&currency_to=usdtmatic\""
        );
        let create = line("post", "/v1/payment");
        assert!(create.contains("-H 'content-type: application/json' -d '{"), "{create}");
        assert!(create.contains("price_amount"), "{create}");
    }
}
