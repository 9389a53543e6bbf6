//! Payouts that the merchant signs, through their forms; a real wallet signs.

use gateway::{account::Role, asset::Network};
use gateway_workers::Role as Worker;
use serde_json::{Value, json};
use support::{
    client::Answer,
    node::anvil::Anvil,
    server::{
        broker::eventually,
        stack::{only, with_configured_stack},
    },
    shop::payouts::{Payer, evm_address},
};

use super::{Desk, Visitor, between};

const NEW: &str = "/payouts/new/non-custodial";
const CURRENCY: &str = "usdtmatic@polygon";

/// Previews two recipients behind a faulty file, builds them twice by one form, and returns the id.
async fn built(owner: &mut Visitor, from: &str) -> String {
    let terms = [("currency", CURRENCY), ("from_address", from), ("fee_level", "fast")];
    let below = |rows: &str| format!("address,amount,reference\n{rows}");
    let with = |recipients: &str, more: &[(&str, &str)]| {
        let fields = terms.iter().chain(more).copied().chain([("recipients", recipients)]);
        fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>()
    };
    let faulty = below(&format!("{},1,a\nnobody,2,b\n", evm_address(1)));
    owner.get(NEW).await;
    let page = post(owner, NEW, &with(&faulty, &[])).await.body;
    assert!(page.contains("1 row that cannot be paid"), "{page}");
    assert!(!page.contains("nc-payout.create"), "{page}");
    let sound = below(&format!("{},1,a\n{},2.5,b\n", evm_address(1), evm_address(2)));
    let page = post(owner, NEW, &with(&sound, &[])).await.body;
    assert!(page.contains("3.5 USDT"), "{page}");
    let hidden = |name: &str| between(&page, &format!("name=\"{name}\" value=\""), "\"");
    let fields = with(&sound, &[("key", hidden("key")), ("seen", hidden("seen"))]);
    let first = post(owner, "/payouts/non-custodial", &fields).await;
    let second = post(owner, "/payouts/non-custodial", &fields).await;
    assert_eq!(first.status, 303, "{}", first.body);
    assert_eq!(first.header("location"), second.header("location"));
    between(first.header("location").unwrap(), "/payouts/", "?").to_owned()
}

async fn post(visitor: &mut Visitor, path: &str, fields: &[(String, String)]) -> Answer {
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    visitor.post(path, &fields).await
}

/// Downloads the file of a payout and has a wallet sign each of its transactions.
async fn signed(owner: &mut Visitor, wallet: &Anvil, id: &str) -> Vec<String> {
    let unsigned = owner.get(&format!("/payouts/{id}/unsigned")).await;
    let name = format!("attachment; filename=\"{id}.json\"");
    assert_eq!(unsigned.header("content-disposition"), Some(name.as_str()));
    let mut signed = Vec::new();
    for entry in unsigned.json()["payload"].as_array().unwrap() {
        let raw = wallet.rpc("eth_signTransaction", json!([entry["transaction"]])).await.unwrap();
        signed.push(raw.as_str().unwrap().to_owned());
    }
    signed
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_is_built_signed_elsewhere_handed_in_and_followed() {
    // The wallet alone: it signs for Polygon's own chain id.
    let wallet = Anvil::start(137).await.unwrap();
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start(&[Worker::ChainWatcher]);
        let (gateway, address) = stack.dashboard("").await;
        let payer = Payer::open(&stack).await;
        let desk = Desk { stack, gateway, address };
        let merchant = Some(&payer.merchant);
        let mut owner = desk.signed_in("o@example.com", Role::Owner, merchant).await;
        let id = built(&mut owner, wallet.deployer()).await;
        let path = format!("/payouts/{id}");
        let page = owner.get(&path).await.body;
        for part in ["awaiting signature", "Download the transactions"] {
            assert!(page.contains(part), "{part} in {page}");
        }
        let signed = signed(&mut owner, &wallet, &id).await;
        assert_eq!(signed.len(), 2);
        let submit = format!("{path}/submit");
        for (wrong, words) in [
            ("", "Choose the signed file, or paste the signed transactions."),
            ("no hex", "Signed transaction 1 is neither hex nor base64."),
            (signed[0].as_str(), "2 transactions were built and 1 came back"),
        ] {
            let refused = owner.post(&submit, &[("signed", wrong)]).await;
            assert_eq!(refused.status, 409, "{wrong}");
            assert!(refused.body.contains(words), "{words} in {}", refused.body);
        }
        let file = json!(signed).to_string();
        let done = owner.post_file(&submit, &[], ("signed.json", file.as_bytes())).await;
        assert_eq!(done.status, 303, "{}", done.body);
        eventually("it is completed", async || {
            let page = owner.clone().get(&path).await.body;
            page.contains("class=\"state completed\"").then_some(())
        })
        .await;
        let page = owner.get(&path).await.body;
        assert!(!page.contains("data-action=\"nc-payout"), "{page}");
        assert!(page.contains("class=\"state confirmed\""), "{page}");
        assert_eq!(owner.get(&format!("{path}/unsigned")).await.status, 409);
        let chain = payer.received_on_chain("polygon").await;
        assert_eq!(chain[&evm_address(2)], (1, "2500000".to_owned()));
        let listed = owner.get("/payouts?kind=non-custodial&state=completed").await.body;
        assert!(listed.contains(&id) && listed.contains("3.5 USDT"), "{listed}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_is_built_again_or_cancelled_until_it_is_handed_in() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let (gateway, address) = stack.dashboard("").await;
        let payer = Payer::open(&stack).await;
        let desk = Desk { stack, gateway, address };
        let body: Value = json!({
            "network": "polygon", "currency": "pol", "fromAddress": evm_address(900),
            "outputs": [{ "address": evm_address(1), "amountRaw": "1000000" }],
        });
        let made = payer.merchant.client.post("/v1/nc-payout", &body).await;
        assert_eq!(made.status, 201, "{}", made.body);
        let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
        let path = format!("/payouts/{id}");
        let merchant = Some(&payer.merchant);
        let mut viewer = desk.signed_in("v@example.com", Role::Viewer, merchant).await;
        let page = viewer.get(&path).await.body;
        assert!(page.contains("Download the transactions") && !page.contains("nc-payout.submit"));
        let mut finance = desk.signed_in("f@example.com", Role::Finance, merchant).await;
        finance.get(&path).await;
        let again = finance.post(&format!("{path}/refresh"), &[("fee_level", "slow")]).await;
        assert_eq!(again.status, 303, "{}", again.body);
        let read = payer.merchant.client.get(&format!("/v1/nc-payout/{id}")).await.json();
        assert_eq!(read["data"]["feeLevel"], "slow");
        assert_eq!(finance.post(&format!("{path}/confirm"), &[]).await.status, 404);
        assert_eq!(finance.get(&format!("{path}/report.csv")).await.status, 404);
        assert_eq!(finance.post(&format!("{path}/cancel"), &[]).await.status, 303);
        let page = finance.get(&path).await.body;
        assert!(
            page.contains("class=\"state cancelled\"")
                && !page.contains("<form method=\"post\" action=\"/payouts")
        );
        let late = finance.post(&format!("{path}/refresh"), &[]).await;
        assert_eq!(late.status, 409);
        assert!(late.body.contains("The payout is cancelled by now"), "{}", late.body);
        let audit = desk.gateway.audit(Some(&id), None).await.unwrap();
        assert!(audit.iter().any(|entry| entry.operator == "f@example.com"), "{audit:?}");
        for (inputs, words) in
            [("x", "Line 1 of the inputs is no txid:n"), ("", "There are no recipients yet")]
        {
            let fields = [("currency", CURRENCY), ("from_address", "0x1"), ("inputs", inputs)];
            let with_rows =
                [("recipients", "address,amount\nx,1"), fields[0], fields[1], fields[2]];
            let fields = if inputs.is_empty() { &fields[..] } else { &with_rows[..] };
            let page = finance.post(NEW, fields).await.body;
            assert!(page.contains(words), "{words} in {page}");
        }
    })
    .await;
}
