//! The gate of `/v1`: compared with the last release, a document may only gain.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The direction of a value: a value that clients send may widen, one that they receive may not.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Sent,
    Answered,
}

/// A schema with its references and parts put together.
#[derive(Default)]
struct Shape<'a> {
    types: BTreeSet<String>,
    values: BTreeSet<String>,
    fields: BTreeMap<&'a str, &'a Value>,
    required: BTreeSet<&'a str>,
    items: Option<&'a Value>,
}

struct Comparison<'a> {
    old: &'a Value,
    new: &'a Value,
    faults: Vec<String>,
}

/// Everything that a client of `old` would miss in `new`.
fn losses(old: &Value, new: &Value) -> Vec<String> {
    let mut comparison = Comparison { old, new, faults: Vec::new() };
    for (path, item) in members(&old["paths"]) {
        for (method, operation) in members(item) {
            let place = format!("{} {path}", method.to_uppercase());
            match new["paths"][path].get(method) {
                None => comparison.faults.push(format!("{place} is gone")),
                Some(now) => comparison.operation(&place, operation, now),
            }
        }
    }
    // Webhooks are for clients the same as answers.
    for (event, item) in members(&old["webhooks"]) {
        let body = "/post/requestBody/content/application~1json/schema";
        match (item.pointer(body), new["webhooks"][event].pointer(body)) {
            (Some(old), Some(now)) => comparison.schema(Way::Answered, event, old, now),
            _ => comparison.faults.push(format!("{event} is gone")),
        }
    }
    comparison.faults
}

impl<'a> Comparison<'a> {
    fn operation(&mut self, place: &str, old: &'a Value, new: &'a Value) {
        self.parameters(place, old, new);
        let body = |operation: &'a Value| &operation["requestBody"]["content"];
        for (kind, content) in members(body(old)) {
            self.schema(
                Way::Sent,
                &format!("{place} body"),
                &content["schema"],
                &body(new)[kind]["schema"],
            );
        }
        if old["requestBody"]["required"] != true && new["requestBody"]["required"] == true {
            self.faults.push(format!("{place}: a body is required now"));
        }
        let takes_key = |operation: &'a Value| each(&operation["security"]).next().is_some();
        if !takes_key(old) && takes_key(new) {
            self.faults.push(format!("{place}: a key is required now"));
        }
        for (status, answer) in members(&old["responses"]) {
            let place = format!("{place} {status}");
            let Some(now) = new["responses"].get(status) else {
                self.faults.push(format!("{place} is gone"));
                continue;
            };
            for (header, _) in members(&answer["headers"]) {
                if now["headers"].get(header).is_none() {
                    self.faults.push(format!("{place}: header {header} is gone"));
                }
            }
            for (kind, content) in members(&answer["content"]) {
                let schema = &now["content"][kind]["schema"];
                self.schema(Way::Answered, &place, &content["schema"], schema);
            }
        }
    }

    fn parameters(&mut self, place: &str, old: &'a Value, new: &'a Value) {
        let key = |parameter: &Value| (parameter["in"].to_string(), parameter["name"].to_string());
        for was in each(&old["parameters"]) {
            let place = format!("{place} {}", was["name"].as_str().unwrap_or_default());
            match each(&new["parameters"]).find(|is| key(is) == key(was)) {
                None => self.faults.push(format!("{place} is gone")),
                Some(is) => self.schema(Way::Sent, &place, &was["schema"], &is["schema"]),
            }
        }
        for is in each(&new["parameters"]).filter(|is| is["required"] == true) {
            let was = each(&old["parameters"]).find(|was| key(was) == key(is));
            if was.is_none_or(|was| was["required"] != true) {
                self.faults.push(format!("{place} {}: required now", is["name"]));
            }
        }
    }

    fn schema(&mut self, way: Way, place: &str, old: &'a Value, new: &'a Value) {
        let (was, is) = (shape(old, self.old), shape(new, self.new));
        let (narrow, wide) = match way {
            Way::Sent => (&was.types, &is.types),
            Way::Answered => (&is.types, &was.types),
        };
        if !narrow.is_subset(wide) || (wide.is_empty() != narrow.is_empty()) {
            self.faults.push(format!("{place}: {:?} became {:?}", was.types, is.types));
        }
        // A list of values where there was none narrows the allowed requests; a lost value breaks
        // both ways.
        if way == Way::Sent && was.values.is_empty() && !is.values.is_empty() {
            self.faults.push(format!("{place}: only {:?} are allowed now", is.values));
        }
        for value in was
            .values
            .difference(&is.values)
            .filter(|_| !is.values.is_empty() || way == Way::Answered)
        {
            self.faults.push(format!("{place}: the value {value} is gone"));
        }
        for (field, schema) in &was.fields {
            let place = format!("{place}.{field}");
            match is.fields.get(field) {
                None => self.faults.push(format!("{place} is gone")),
                Some(now) => self.schema(way, &place, schema, now),
            }
        }
        let (before, after, word) = match way {
            Way::Sent => (&was.required, &is.required, "required now"),
            Way::Answered => (&is.required, &was.required, "no longer always there"),
        };
        for field in after.difference(before) {
            self.faults.push(format!("{place}.{field}: {word}"));
        }
        if let (Some(was), Some(is)) = (was.items, is.items) {
            self.schema(way, &format!("{place}[]"), was, is);
        }
    }
}

fn shape<'a>(schema: &'a Value, document: &'a Value) -> Shape<'a> {
    let mut shape = Shape::default();
    if let Some(path) = schema["$ref"].as_str() {
        return self::shape(
            document.pointer(&path[1..]).expect("a reference leads somewhere"),
            document,
        );
    }
    for part in each(&schema["allOf"]).chain(each(&schema["oneOf"])) {
        let part = self::shape(part, document);
        shape.types.extend(part.types);
        // The narrower list is the one that holds.
        if shape.values.is_empty()
            || (!part.values.is_empty() && part.values.len() < shape.values.len())
        {
            shape.values = part.values;
        }
        for (name, field) in part.fields {
            // Of two descriptions of one field, the one that lists values says more.
            let known = shape.fields.get(name).is_some_and(|known| known["enum"].is_array());
            if !known {
                shape.fields.insert(name, field);
            }
        }
        shape.required.extend(part.required);
        shape.items = shape.items.or(part.items);
    }
    let types = each(&schema["type"]).chain([&schema["type"]]);
    shape.types.extend(types.filter_map(Value::as_str).map(str::to_owned));
    shape.values.extend(each(&schema["enum"]).map(ToString::to_string));
    shape.fields.extend(members(&schema["properties"]));
    shape.required.extend(each(&schema["required"]).filter_map(Value::as_str));
    shape.items = schema.get("items").or(shape.items);
    shape
}

fn each(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

#[test]
fn since_the_last_release_the_api_has_only_gained() {
    let released = include_str!("../../openapi.released.json");
    let [old, new]: [Value; 2] =
        [released, super::json()].map(|text| serde_json::from_str(text).unwrap());
    let losses = losses(&old, &new);
    assert!(losses.is_empty(), "clients of the last release would miss these: {losses:#?}");
}

/// A path that no release has promised could be taken away again by mistake, and nothing would
/// notice.
#[test]
fn the_released_document_holds_every_path_and_every_webhook() {
    let released = include_str!("../../openapi.released.json");
    let [old, new]: [Value; 2] =
        [released, super::json()].map(|text| serde_json::from_str(text).unwrap());
    let mut missing = Vec::new();
    for part in ["paths", "webhooks"] {
        for (path, item) in members(&new[part]) {
            let unknown = members(item).filter(|(method, _)| old[part][path].get(method).is_none());
            missing.extend(unknown.map(|(method, _)| format!("{method} {path}")));
        }
    }
    assert!(members(&new["webhooks"]).count() >= 17, "webhooks are missing");
    assert!(missing.is_empty(), "copy openapi.json over openapi.released.json: {missing:#?}");
}

type Change = fn(&mut Value);

/// Each loss, made on purpose, is found; each gain is not.
#[test]
fn every_kind_of_loss_is_found_and_gains_are_not() {
    let now: Value = serde_json::from_str(super::json()).unwrap();
    let after = |change: Change| {
        let mut changed = now.clone();
        change(&mut changed);
        losses(&now, &changed)
    };
    for (expected, change) in lost() {
        let found = after(change);
        assert!(found.iter().any(|fault| fault == expected), "{expected}: {found:#?}");
    }
    let gained: [Change; 4] = [
        |it| it["paths"]["/v1/new"] = serde_json::json!({"get": {}}),
        |it| schemas(it)["Payment"]["properties"]["new"] = serde_json::json!({"type": "string"}),
        |it| schemas(it)["NewPayment"]["properties"]["new"] = serde_json::json!({"type": "string"}),
        |it| schemas(it)["StandardName"]["enum"].as_array_mut().unwrap().push("new".into()),
    ];
    for change in gained {
        assert_eq!(after(change), Vec::<String>::new());
    }
}

/// Changes that take something from clients, and the message about each.
fn lost() -> [(&'static str, Change); 17] {
    [
        ("mass_payout.expired is gone", |it| remove(&mut it["webhooks"], "mass_payout.expired")),
        ("mass_payout.created.order.paidRaw is gone", |it| {
            remove(&mut schemas(it)["PayoutOrder"]["properties"], "paidRaw");
        }),
        (
            "POST /v1/evm-mass-payout 409.error.kind: the value \"idempotency_conflict\" is gone",
            |it| {
                let answer = &mut it["paths"]["/v1/evm-mass-payout"]["post"]["responses"]["409"];
                let parts = &mut answer["content"]["application/json"]["schema"]["allOf"];
                let kinds = &mut parts[1]["properties"]["error"]["properties"]["kind"]["enum"];
                kinds.as_array_mut().unwrap().clear();
            },
        ),
        ("GET /v1/status is gone", |it| remove(&mut it["paths"], "/v1/status")),
        ("GET /v1/payment is gone", |it| remove(&mut it["paths"]["/v1/payment"], "get")),
        ("POST /v1/payment 201.pay_address is gone", |it| {
            remove(&mut schemas(it)["Payment"]["properties"], "pay_address");
        }),
        ("GET /v1/payment 200.data[].order_id: no longer always there", |it| {
            let required = schemas(it)["Payment"]["required"].as_array_mut().unwrap();
            required.retain(|name| name != "order_id");
        }),
        ("POST /v1/payment 201.price_amount: {\"number\"} became {\"string\"}", |it| {
            schemas(it)["Amount"]["type"] = "string".into();
        }),
        ("POST /v1/payment 201.created_at: {\"string\"} became {\"null\", \"string\"}", |it| {
            schemas(it)["Instant"]["type"] = serde_json::json!(["string", "null"]);
        }),
        ("POST /v1/payment 201.payment_status: the value \"failed\" is gone", |it| {
            schemas(it)["PaymentStatus"]["enum"].as_array_mut().unwrap().retain(|v| v != "failed");
        }),
        ("POST /v1/payment 429.code: the value \"QUOTA_EXCEEDED\" is gone", |it| {
            let answer = &mut it["paths"]["/v1/payment"]["post"]["responses"]["429"];
            let parts = &mut answer["content"]["application/json"]["schema"]["allOf"];
            let codes = parts[1]["properties"]["code"]["enum"].as_array_mut().unwrap();
            codes.retain(|code| code != "QUOTA_EXCEEDED");
        }),
        ("POST /v1/payment 429: header Retry-After is gone", |it| {
            remove(
                &mut it["paths"]["/v1/payment"]["post"]["responses"]["429"]["headers"],
                "Retry-After",
            );
        }),
        ("POST /v1/payment 503 is gone", |it| {
            remove(&mut it["paths"]["/v1/payment"]["post"]["responses"], "503");
        }),
        ("POST /v1/payment body.order_id: required now", |it| {
            schemas(it)["NewPayment"]["required"].as_array_mut().unwrap().push("order_id".into());
        }),
        ("POST /v1/payment body.pricing_mode: the value \"direct\" is gone", |it| {
            schemas(it)["PricingMode"]["enum"].as_array_mut().unwrap().retain(|v| v != "direct");
        }),
        ("GET /v1/payment \"limit\": required now", |it| {
            it["paths"]["/v1/payment"]["get"]["parameters"][0]["required"] = true.into();
        }),
        ("GET /v1/estimate: a key is required now", |it| {
            it["paths"]["/v1/estimate"]["get"]["security"] = serde_json::json!([{}]);
        }),
    ]
}

fn remove(object: &mut Value, name: &str) {
    assert!(object.as_object_mut().unwrap().remove(name).is_some(), "{name}");
}

fn schemas(document: &mut Value) -> &mut Value {
    &mut document["components"]["schemas"]
}
