//! The OpenAPI document as a Postman collection (v2.1): a folder for each group of operations, the
//! address and the key as variables, the examples of the contract in the requests.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::{
    docs::{
        reference::{each, members, text},
        request::{example, parameters, sample, takes_key},
    },
    openapi,
};

const SCHEMA: &str = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";
/// Stands for the address of this server until the collection is served.
const ADDRESS: &str = "<base_url>";

/// The collection, whose requests go to the gateway at `base_url`.
pub fn collection(base_url: &str) -> String {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let document: Value = serde_json::from_str(openapi::json()).unwrap_or_default();
        format!("{:#}\n", read(&document))
    });
    TEXT.replace(ADDRESS, base_url.trim_end_matches('/'))
}

fn read(document: &Value) -> Value {
    let folders: Vec<_> = each(&document["tags"])
        .map(|tag| (tag, requests(tag, document)))
        .filter(|(_, requests)| !requests.is_empty())
        .map(|(tag, requests)| {
            json!({ "name": tag["name"], "description": tag["description"], "item": requests })
        })
        .collect();
    json!({
        "info": {
            "name": document["info"]["title"],
            "description": document["info"]["description"],
            "version": document["info"]["version"],
            "schema": SCHEMA,
        },
        "auth": { "type": "apikey", "apikey": [
            { "key": "key", "value": "x-api-key", "type": "string" },
            { "key": "value", "value": "{{api_key}}", "type": "string" },
            { "key": "in", "value": "header", "type": "string" },
        ] },
        "variable": [
            { "key": "base_url", "value": ADDRESS, "type": "string" },
            // Left empty: a key belongs into the environment of a person, not into a file.
            { "key": "api_key", "value": "", "type": "string" },
        ],
        "item": folders,
    })
}

fn requests(tag: &Value, document: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    for (path, item) in members(&document["paths"]) {
        for (method, operation) in members(item) {
            if each(&operation["tags"]).any(|name| *name == tag["name"]) {
                found.push(request(method, path, operation));
            }
        }
    }
    found
}

fn request(method: &str, path: &str, operation: &Value) -> Value {
    let mut header: Vec<_> = parameters(operation, "header")
        .map(|one| json!({ "key": one["name"], "value": example(one), "description": one["description"], "disabled": true }))
        .collect();
    let body = sample(operation);
    if let Some(body) = &body {
        header.push(json!({ "key": "content-type", "value": body.content_type }));
    }
    let mut request = json!({
        "method": method.to_uppercase(),
        "description": operation["description"],
        "header": header,
        "url": address(path, operation),
    });
    if let Some(body) = body {
        let language = if body.content_type == "application/json" { "json" } else { "text" };
        request["body"] = json!({
            "mode": "raw", "raw": body.text, "options": { "raw": { "language": language } },
        });
    }
    if !takes_key(operation) {
        request["auth"] = json!({ "type": "noauth" });
    }
    json!({ "name": operation["summary"], "id": operation["operationId"], "request": request, "response": [] })
}

/// The address in parts, as Postman keeps it; parameters without an example are switched off.
fn address(path: &str, operation: &Value) -> Value {
    let parts: Vec<_> = path
        .trim_start_matches('/')
        .split('/')
        .map(|part| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some(name) => format!(":{name}"),
            None => part.to_owned(),
        })
        .collect();
    let query: Vec<_> = parameters(operation, "query")
        .map(|one| {
            let value = example(one);
            let disabled = value.is_empty();
            json!({ "key": one["name"], "value": value, "description": one["description"], "disabled": disabled })
        })
        .collect();
    let sent: Vec<_> = query
        .iter()
        .filter(|one| one["disabled"] == false)
        .map(|one| format!("{}={}", text(&one["key"]), text(&one["value"])))
        .collect();
    let mark = if sent.is_empty() { "" } else { "?" };
    let variable: Vec<_> = parameters(operation, "path")
        .map(|one| json!({ "key": one["name"], "value": example(one), "description": one["description"] }))
        .collect();
    json!({
        "raw": format!("{{{{base_url}}}}/{}{mark}{}", parts.join("/"), sent.join("&")),
        "host": ["{{base_url}}"],
        "path": parts,
        "query": query,
        "variable": variable,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn requests_of(collection: &Value) -> Vec<&Value> {
        each(&collection["item"]).flat_map(|folder| each(&folder["item"])).collect()
    }

    #[test]
    fn every_operation_is_a_request_once_and_every_id_is_a_variable() {
        let document: Value = serde_json::from_str(openapi::json()).unwrap();
        let collection = read(&document);
        let expected: BTreeSet<_> = members(&document["paths"])
            .flat_map(|(path, item)| {
                members(item).map(move |(method, operation)| {
                    let path = path.replace('{', ":").replace('}', "");
                    (text(&operation["operationId"]), method.to_uppercase(), path)
                })
            })
            .collect();
        let requests = requests_of(&collection);
        let found: BTreeSet<_> = requests
            .iter()
            .map(|one| {
                let parts: Vec<_> = each(&one["request"]["url"]["path"]).map(text).collect();
                (text(&one["id"]), text(&one["request"]["method"]), format!("/{}", parts.join("/")))
            })
            .collect();
        assert_eq!(found, expected);
        assert_eq!(requests.len(), expected.len());
        for one in requests {
            let url = &one["request"]["url"];
            let ids = each(&url["path"]).filter(|part| text(part).starts_with(':')).count();
            assert_eq!(each(&url["variable"]).count(), ids, "{one}");
            assert!(text(&url["raw"]).starts_with("{{base_url}}/v1/"), "{one}");
        }
    }

    #[test]
    fn a_collection_has_the_key_as_a_variable_and_bodies_that_can_be_read() {
        let collection: Value =
            serde_json::from_str(&collection("http://gateway.example/")).unwrap();
        assert_eq!(collection["info"]["schema"], SCHEMA);
        assert_eq!(collection["variable"][0]["value"], "http://gateway.example");
        assert_eq!(collection["variable"][1]["value"], "");
        assert_eq!(collection["auth"]["apikey"][1]["value"], "{{api_key}}");
        let mut bodies = 0;
        for one in requests_of(&collection) {
            let body = &one["request"]["body"];
            if body["options"]["raw"]["language"] == "json" {
                serde_json::from_str::<Value>(&text(&body["raw"])).unwrap();
                bodies += 1;
            }
        }
        assert!(bodies >= 6, "only {bodies} requests have a body");
    }

    #[test]
    fn it_is_the_same_each_time() {
        assert_eq!(collection("http://a"), collection("http://a"));
        let document: Value = serde_json::from_str(openapi::json()).unwrap();
        assert_eq!(read(&document).to_string(), read(&document).to_string());
    }
}
