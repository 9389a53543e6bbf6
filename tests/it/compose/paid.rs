//! A payment through the production profile: created over TLS, paid on anvil in place of a node of
//! Ethereum, and finished by the services of the file.

use rust_decimal::{Decimal, prelude::ToPrimitive};
use serde_json::{Value, json};
use support::{
    fault::hostile::{Act, Hostile},
    node::anvil::{Anvil, Call},
    server::processes::within,
};

use super::{
    HOSTS,
    run::{Machine, PATIENCE, Ports, curl, on_a_machine},
};

const ROLES: [&str; 5] =
    ["api", "chain-watcher", "deposit-matching", "expiry-timer", "rate-refresher"];
const WEI_PER_COIN: i64 = 1_000_000_000_000_000_000;

/// The JSON of an answer over TLS, and its status.
fn ask(machine: &Machine, ports: Ports, path: &str, more: &[&str]) -> (String, Value) {
    let url = format!("https://{}:{}{path}", HOSTS[0], ports.tls);
    let (_, said) = curl(machine, ports, &[&[url.as_str()], more].concat());
    let (head, body) = said.split_once("\r\n\r\n").unwrap_or((said.as_str(), ""));
    let status = head.split_whitespace().nth(1).unwrap_or_default().to_owned();
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

/// The operator's settings of nodes, below those of his keys.
fn add_nodes(machine: &mut Machine, node: &str, market: &str) {
    let keys = machine.secret("gateway.toml");
    let nodes = format!(
        "\n[chains.ethereum]\nsource = \"node\"\nrpc_url = \"{node}\"\nconfirmations = 2\npoll_ms = 200\n\
         head_age_max_seconds = 0\n[rates]\nkraken_url = \"{market}\"\nrefresh_s = 2\n"
    );
    machine.write("gateway.toml", &(keys + &nodes));
    machine.here.push(("GATEWAY_RATES__PROVIDERS".to_owned(), "kraken".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_production_profile_takes_a_payment_behind_tls() {
    let mut anvil = Anvil::start(1).await.unwrap();
    let price = json!({ "error": [], "result": { "XETHZUSD": { "a": ["2500"], "b": ["2500"] } } });
    let market = Hostile::always(Act::answer("200 OK", &price.to_string())).await;
    on_a_machine(|mut machine| async move {
        add_nodes(&mut machine, anvil.url(), &market.url("/"));
        machine.ctl("migrate", &["setup"]).await.expect_ok();
        let programs = ROLES.map(|name| (name, machine.launch(name)));
        for (name, program) in &programs {
            program.ready(&machine, name).await;
        }
        let (_proxy, ports) = machine.launch_proxy();
        let created = machine.ctl("api", &["--json", "merchant", "create", "--name", "Shop"]).await;
        let key = created.expect_ok().json()["api_key"].as_str().unwrap().to_owned();
        let key = format!("x-api-key: {key}");
        // Above the minimum of coins of Ethereum.
        let wanted = json!({ "price_amount": 500, "price_currency": "usd", "pay_currency": "eth" });
        let wanted = wanted.to_string();
        let post =
            ["--header", &key, "--header", "content-type: application/json", "--data", &wanted];
        let (payment, _) = within(PATIENCE, "an invoice is created", async || {
            match ask(&machine, ports, "/v1/payment", &post) {
                (status, payment) if status == "201" => Ok(payment),
                other => Err(format!("{other:?}")),
            }
        })
        .await;

        let amount: Decimal = payment["pay_amount"].to_string().trim_matches('"').parse().unwrap();
        let wei = (amount * Decimal::from(WEI_PER_COIN)).to_u128().unwrap();
        let to = payment["pay_address"].as_str().unwrap();
        let call = Call { to: Some(to), value: format!("{wei:#x}"), data: "0x".to_owned() };
        let from = anvil.next_account();
        anvil.send(&from, &call).await.unwrap();
        let path = format!("/v1/payment/{}", payment["payment_id"].as_str().unwrap());
        within(PATIENCE, "the invoice is finished", async || {
            anvil.mine().await.unwrap();
            let (_, now) = ask(&machine, ports, &path, &["--header", &key]);
            if now["payment_status"] == "finished" { Ok(()) } else { Err(now.to_string()) }
        })
        .await;
        let explain = ["invoice", "explain", payment["payment_id"].as_str().unwrap()];
        machine.ctl("api", &explain).await.expect_ok();
    })
    .await;
}
