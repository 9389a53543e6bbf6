//! The OpenAPI document: served, shown, valid, and true for real responses.

use std::{
    path::Path,
    process::{Output, Stdio},
};

use gateway::merchant::settings::Settings;
use gateway_api::openapi;
use serde_json::Value;
use support::server::stack::{Merchant, Stack, with_stack};
use tokio::process::Command;

/// Cases per operation and phase: enough to reach every limit, few enough for every run of the
/// tests.
const EXAMPLES: &str = "40";
/// Any fixed number: a run that failed fails again.
const SEED: &str = "7";

#[tokio::test]
async fn the_description_is_served_for_machines_and_for_people() {
    with_stack(|stack| async move {
        let document = stack.anybody().get("/v1/openapi.json").await;
        assert_eq!(document.status, 200);
        assert_eq!(document.header("content-type"), Some("application/json"));
        assert_eq!(document.body, openapi::json());

        let page = stack.anybody().get("/docs").await;
        assert_eq!(page.status, 200);
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe") && !page.body.contains("<script>"), "{policy}");
        // Everything that the page loads comes from this server.
        let loaded: Vec<_> = ["src=\"", "<link rel=\"stylesheet\" href=\""]
            .iter()
            .flat_map(|mark| page.body.split(mark).skip(1))
            .map(|rest| rest.split('"').next().unwrap())
            .collect();
        // The script is the sandbox's: it offers to send the requests.
        assert_eq!(loaded, ["/docs/try.js", "/docs/docs.css"]);
        let style = stack.anybody().get(loaded[1]).await;
        assert_eq!(style.header("content-type"), Some("text/css; charset=utf-8"));
        assert!(!style.body.contains("url(") && !style.body.contains("@import"));
    })
    .await;
}

#[tokio::test]
async fn the_page_shows_every_endpoint_field_and_error_code() {
    with_stack(|stack| async move {
        let page = stack.anybody().get("/docs").await.body;
        let document: Value = serde_json::from_str(openapi::json()).unwrap();
        let mut names: Vec<String> = Vec::new();
        let (asked, told) = (&document["paths"], &document["webhooks"]);
        for (path, item) in asked.as_object().unwrap().iter().chain(told.as_object().unwrap()) {
            names.push(format!("<code>{path}</code>"));
            for operation in item.as_object().unwrap().values() {
                names.push(operation["summary"].as_str().unwrap().replace('\'', "&#39;"));
                let parameters = operation["parameters"].as_array().into_iter().flatten();
                names.extend(
                    parameters.map(|p| format!("<code>{}</code>", p["name"].as_str().unwrap())),
                );
                let answers = operation["responses"].as_object().unwrap().values();
                let schemas = answers.map(|a| &a["content"]["application/json"]["schema"]);
                let codes = schemas.filter_map(|s| {
                    let narrowed = &s["allOf"][1]["properties"];
                    let error = &narrowed["error"]["properties"];
                    let words = [&narrowed["code"], &error["kind"], &error["code"]];
                    words.into_iter().find_map(|word| word["enum"].as_array())
                });
                names.extend(
                    codes.flatten().map(|c| format!("<code>{}</code>", c.as_str().unwrap())),
                );
            }
        }
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            names.push(format!("id=\"shape-{name}\""));
            let parts =
                [schema].into_iter().chain(schema["allOf"].as_array().into_iter().flatten());
            let fields = parts.filter_map(|part| part["properties"].as_object()).flatten();
            names.extend(fields.map(|(field, _)| format!("<code>{field}</code>")));
        }
        assert!(names.len() > 100, "{names:?}");
        let missing: Vec<_> = names.iter().filter(|name| !page.contains(*name)).collect();
        assert!(missing.is_empty(), "not on the page: {missing:?}");
    })
    .await;
}

/// A high quota and request budget, so that neither ends the run.
async fn busy_merchant(stack: &Stack) -> Merchant {
    stack.lift_rate_limits().await;
    stack.merchant_with(Settings { open_invoices_max: 100_000, ..Settings::default() }).await
}

/// `scripts/schemathesis.sh` finds or installs it.
async fn program() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/schemathesis.sh");
    let found = Command::new(script).stderr(Stdio::inherit()).output().await.unwrap();
    assert!(found.status.success(), "scripts/schemathesis.sh found no schemathesis");
    String::from_utf8(found.stdout).unwrap().trim().to_owned()
}

/// An order of each family, whose ids are used for the operations on one order, beside unknown ids.
async fn orders(merchant: &Merchant) -> String {
    let mut config = String::new();
    for (path, network, currency, address) in [
        ("/v1/mass-payout", "litecoin", "ltc", "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9"),
        (
            "/v1/evm-mass-payout",
            "polygon",
            "usdtmatic",
            "0x52908400098527886E0F7030069857D2E4169EE7",
        ),
    ] {
        let order = serde_json::json!({
            "network": network, "currency": currency, "items": [{ "address": address, "amount": 1 }],
        });
        let created = merchant.client.post(path, &order).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let id = created.json()["data"]["id"].as_str().unwrap().to_owned();
        let unknown = format!("{}0", &id[..id.len() - 1]);
        config.push_str(&format!(
            "[[operations]]\ninclude-path-regex = \"^{path}/\\\\{{id\"\n\
             parameters = {{ \"path.id\" = [{id:?}, {id:?}, {unknown:?}, \"x\"] }}\n"
        ));
    }
    config + &nc_payout(merchant).await
}

/// The same for a payout signed by the merchant: on the sandbox's chain every address has enough.
async fn nc_payout(merchant: &Merchant) -> String {
    let asked = serde_json::json!({
        "network": "polygon", "currency": "usdtmatic", "fromAddress": "0x52908400098527886E0F7030069857D2E4169EE7",
        "outputs": [{ "address": "0x8617E340B3D01FA5F11F306F4090FD50E238070D", "amount": 1 }],
    });
    let created = merchant.client.post("/v1/nc-payout", &asked).await;
    assert_eq!(created.status, 201, "{}", created.body);
    let id = created.json()["data"]["id"].as_str().unwrap().to_owned();
    // A real payout: the run builds payouts by itself, and one that was just built must be found.
    format!(
        "[[operations]]\ninclude-path-regex = \"^/v1/nc-payout/\\\\{{id\"\n\
         parameters = {{ \"path.id\" = {id:?} }}\n"
    )
}

async fn schemathesis(stack: &Stack, merchant: &Merchant) -> Output {
    // Its notes about the run are written beside the build's products.
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("schemathesis-{}", stack.api.port()));
    std::fs::create_dir_all(&folder).unwrap();
    let config = folder.join("schemathesis.toml");
    std::fs::write(&config, orders(merchant).await).unwrap();
    let outcome = Command::new(program().await)
        .current_dir(&folder)
        .env("NO_COLOR", "1")
        .arg("--config-file")
        .arg(&config)
        .args(["run", &format!("http://{}/v1/openapi.json", stack.api)])
        .args(["--header", &format!("x-api-key: {}", merchant.new.api_key.reveal())])
        .args(["--phases", "examples,coverage,fuzzing,stateful", "--checks", "all"])
        // A valid request may still name a currency that is not available: the description cannot
        // list the currencies that operators enable.
        .args(["--exclude-checks", "positive_data_acceptance"])
        .args(["--max-examples", EXAMPLES, "--seed", SEED, "--request-timeout", "15"])
        .output()
        .await
        .unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    outcome
}

#[tokio::test]
async fn no_generated_request_gets_a_5xx_or_an_undocumented_answer() {
    with_stack(|stack| async move {
        let merchant = busy_merchant(&stack).await;
        let outcome = schemathesis(&stack, &merchant).await;
        let said = String::from_utf8_lossy(&outcome.stdout);
        assert!(outcome.status.success(), "{said}\n{}", String::from_utf8_lossy(&outcome.stderr));
        // A run without requests would have passed too.
        let rows = super::rows_written(&stack).await;
        assert!(rows[0] > 5, "only {} invoices were created\n{said}", rows[0]);
        let orders =
            stack.gateway.list_all_payouts(Some(merchant.new.id), None, 100).await.unwrap();
        assert!(orders.len() > 10, "only {} payout orders were created\n{said}", orders.len());
        let built = stack.gateway.list_nc_payouts(merchant.new.id, None, 1, 0).await.unwrap().1;
        assert!(built > 5, "only {built} payouts were built for signing\n{said}");
        println!("{said}");
    })
    .await;
}

/// The value at `schema` checked against it, with the document's own parts at hand.
fn faults(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut whole = document.clone();
    whole["allOf"] = serde_json::json!([schema]);
    let validator = jsonschema::validator_for(&whole).expect("a schema");
    validator.iter_errors(value).map(|fault| fault.to_string()).collect()
}

/// Every object of the document that has a schema and an example of it.
fn examples<'a>(place: &str, part: &'a Value, found: &mut Vec<(String, &'a Value, &'a Value)>) {
    if let (Some(schema), Some(example)) = (part.get("schema"), part.get("example")) {
        found.push((place.to_owned(), schema, example));
    }
    if part.get("type").is_some() || part.get("oneOf").is_some() {
        let own = part["examples"].as_array().into_iter().flatten();
        found.extend(own.map(|example| (place.to_owned(), part, example)));
    }
    match part {
        Value::Object(members) => {
            for (name, member) in members.iter().filter(|(name, _)| *name != "example") {
                examples(&format!("{place}/{name}"), member, found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                examples(&format!("{place}/{index}"), item, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_example_is_valid_by_its_own_schema() {
    let document: Value = serde_json::from_str(openapi::json()).unwrap();
    let mut found = Vec::new();
    examples("", &document, &mut found);
    assert!(found.len() > 60, "only {} examples", found.len());
    let wrong: Vec<_> = found
        .iter()
        // A file is text, and is shown as one.
        .filter(|(place, ..)| !place.contains("text~1csv") && !place.contains("text/csv"))
        .flat_map(|(place, schema, example)| {
            let faults = faults(&document, schema, example);
            faults.into_iter().map(move |fault| format!("{place}: {fault}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_examples_of_requests_are_taken_as_they_stand() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await.client;
        let document: Value = serde_json::from_str(openapi::json()).unwrap();
        let mut taken = Vec::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            let body = &item["post"]["requestBody"]["content"]["application/json"]["example"];
            // Nobody can pay for a resource on simulated chains; `it::x402::resource` sends it.
            let is_elsewhere = path == "/v1/x402/resources";
            if body.is_object() && !path.contains('{') && !is_elsewhere {
                let answer = merchant.post(path, body).await;
                // Some make nothing: a test of a webhook, and events to send again.
                assert!([200, 201, 202].contains(&answer.status), "{path}: {}", answer.body);
                taken.push(path.as_str());
            }
        }
        let expected = [
            "/v1/events/resend",
            "/v1/evm-mass-payout",
            "/v1/invoice",
            "/v1/links",
            "/v1/mass-payout",
            "/v1/nc-payout",
            "/v1/payment",
            "/v1/webhooks/test",
        ];
        assert_eq!(taken, expected);
        for (path, item) in document["paths"].as_object().unwrap() {
            let parameters = item["get"]["parameters"].as_array().into_iter().flatten();
            let asked: Vec<_> = parameters
                .filter(|one| one["in"] == "query" && one.get("example").is_some())
                .map(|one| {
                    format!(
                        "{}={}",
                        one["name"].as_str().unwrap(),
                        one["example"].as_str().unwrap()
                    )
                })
                .collect();
            if !asked.is_empty() {
                let answer = stack.anybody().get(&format!("{path}?{}", asked.join("&"))).await;
                assert_eq!(answer.status, 200, "{path}: {}", answer.body);
            }
        }
    })
    .await;
}

#[test]
fn every_operation_says_whether_it_takes_a_key_and_networks_may_grow() {
    let document: Value = serde_json::from_str(openapi::json()).unwrap();
    let open: Vec<_> = gateway_api::endpoints()
        .into_iter()
        .filter(|endpoint| endpoint.access == gateway_api::Access::Anyone)
        .map(|endpoint| endpoint.path)
        .collect();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let security = operation["security"].as_array();
            let takes_key = security.map(|all| !all.is_empty());
            assert_eq!(takes_key, Some(!open.contains(&path.as_str())), "{method} {path}");
        }
    }
    let network = &document["components"]["schemas"]["NetworkName"];
    assert!(network.get("enum").is_none(), "{network}");
    assert_eq!(network["x-extensible-enum"].as_array().unwrap().len(), 15);
}
