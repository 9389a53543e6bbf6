//! The same on the sandbox's own chain: a real wallet signs, and only the chain is simulated.

use gateway::asset::Network;
use gateway_workers::Role;
use serde_json::json;
use support::{
    node::anvil::Anvil,
    server::{
        broker::eventually,
        stack::{only, with_configured_stack},
    },
    shop::payouts::{Payer, evm_address},
};

use super::{PATH, sign};

#[tokio::test(flavor = "multi_thread")]
async fn the_simulated_chain_takes_what_a_real_wallet_signs() {
    // The wallet alone: it signs for Polygon's own chain id.
    let wallet = Anvil::start(137).await.unwrap();
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start(&[Role::ChainWatcher]);
        let payer = Payer::open(&stack).await;
        let client = &payer.merchant.client;
        for (round, currency) in ["usdtmatic", "pol"].into_iter().enumerate() {
            let first = u32::try_from(round).unwrap() * 10;
            let outputs: Vec<_> = (first + 1..first + 4)
                .map(|n| json!({ "address": evm_address(n), "amountRaw": "1000000" }))
                .collect();
            let body = json!({
                "network": "polygon", "currency": currency, "fromAddress": wallet.deployer(),
                "outputs": outputs,
            });
            let created = client.post(PATH, &body).await;
            assert_eq!(created.status, 201, "{}", created.body);
            let payout = created.json()["data"].clone();
            let at = format!("{PATH}/{}", payout["id"].as_str().unwrap());
            let signed = json!({ "signed": sign(&wallet, &payout).await });
            let submitted = client.post(&format!("{at}/submit"), &signed).await;
            assert_eq!(submitted.status, 200, "{}", submitted.body);
            eventually("it is completed", async || {
                let read = client.get(&at).await.json();
                (read["data"]["state"] == "completed").then_some(())
            })
            .await;
        }
        let chain = payer.received_on_chain("polygon").await;
        for number in [1, 2, 3, 11, 12, 13] {
            assert_eq!(chain[&evm_address(number)], (1, "1000000".to_owned()));
        }
    })
    .await;
}
