//! Nothing is signed or sent for any destination but the treasury's, and nothing else than planned.

use serde_json::{Value, json};
use support::client::ctl::Ctl;

use super::scene::{CHAIN_ID, TREASURY, on_anvil, read};

/// `m/44'/60'/0'/0/9` of the sandbox's words.
const NINTH: &str = "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720";
const STRANGER: &str = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359";

fn pinned_to(address: &str) -> Ctl {
    Ctl::default()
        .with("GATEWAY_TREASURY__POLYGON", address)
        .with("GATEWAY_CHAINS__POLYGON__CHAIN_ID", &CHAIN_ID.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn another_destination_is_refused_by_both_machines() {
    on_anvil(|mut scene| async move {
        scene.paid(2_500, "pol").await;
        let (_, plan) = scene.plan().await;
        // The plan was changed on its way.
        let stolen = read(&plan).replace(TREASURY, STRANGER);
        assert_ne!(stolen, read(&plan));
        let file = scene.file("stolen");
        std::fs::write(&file, &stolen).unwrap();
        let out = scene.file("signed");
        let refused = scene.signed_by(&scene.cold, &file, &out).await;
        refused.expect_failure("it sends to 0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359");
        assert!(!std::path::Path::new(&out).exists());

        // The machine with the seed has other settings than the plan, or none.
        let refused = scene.signed_by(&pinned_to(STRANGER), &plan, &out).await;
        refused.expect_failure("treasury.polygon of these settings is 0xfB69");
        let refused = scene.signed_by(&Ctl::default(), &plan, &out).await;
        refused.expect_failure("these settings have no treasury.polygon");

        // Whoever has the seed and those settings signs it; the other machine sends it nowhere.
        let signed = scene.signed_by(&pinned_to(STRANGER), &file, &out).await;
        signed.expect_ok();
        let sent = scene.ctl.run(&["sweep", "send", &out, "--once"]).await;
        sent.expect_failure("transaction 0 does not do what was planned");
        assert_eq!(scene.anvil().coins(STRANGER).await.unwrap(), 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_words_fees_and_chains_sign_nothing() {
    on_anvil(|mut scene| async move {
        scene.paid(2_500, "pol").await;
        let (_, plan) = scene.plan().await;
        let out = scene.file("signed");
        let words = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";
        let arguments = ["sweep", "sign", &plan, "--yes", "--out", &out];
        let refused = scene.cold.run_with_input(&arguments, words).await;
        refused.expect_failure("is not the address number");
        let cheap = scene.cold.clone().with("GATEWAY_CHAINS__POLYGON__FEE_RATE_MAX", "1");
        let cheap = cheap.with("GATEWAY_CHAINS__POLYGON__FEE_RATE", "1");
        scene.signed_by(&cheap, &plan, &out).await.expect_failure("fee_rate_max is 1");
        let other = scene.cold.clone().with("GATEWAY_CHAINS__POLYGON__CHAIN_ID", "137");
        scene.signed_by(&other, &plan, &out).await.expect_failure("it is of chain 313371");
        let mut dear: Value = serde_json::from_str(&read(&plan)).unwrap();
        dear["transactions"][0]["amount"] = json!("1000");
        let file = scene.file("dear");
        std::fs::write(&file, dear.to_string()).unwrap();
        scene.signed_by(&scene.cold, &file, &out).await.expect_failure("fee_percent_max");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_send_with_the_same_file_changes_nothing() {
    on_anvil(|mut scene| async move {
        scene.paid(2_500, "pol").await;
        let (planned, plan) = scene.plan().await;
        let signed = scene.sign(&plan).await;
        let id = planned["plan_id"].as_str().unwrap();
        let first = ["sweep", "send", &signed, "--once"];
        let (one, two) = tokio::join!(scene.ctl.run(&first), scene.ctl.run(&first));
        one.expect_ok();
        two.expect_ok();
        scene.until_ended(id).await;
        scene.ctl.run(&["sweep", "send", &signed]).await.expect_ok();
        let drop = scene.ctl.run(&["sweep", "drop", id]).await;
        drop.expect_failure("cannot be dropped");
        let moved = "select count(*) from ledger_entry where kind = 'sweep'";
        assert_eq!(scene.count(moved).await, 1);
        scene.is_sound().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_planned_without_a_treasury_or_to_an_address_of_our_own() {
    on_anvil(|mut scene| async move {
        let (address, _) = scene.paid(2_500, "pol").await;
        let file = scene.file("plan");
        let arguments = ["sweep", "plan", "--network", "polygon", "--out", &file];
        let none = scene.ctl.clone().with("GATEWAY_TREASURY__POLYGON", "");
        none.run(&arguments).await.expect_failure("treasury.polygon is not set");
        let own = scene.ctl.clone().with("GATEWAY_TREASURY__POLYGON", &address);
        own.run(&arguments).await.expect_failure("is a deposit address of this installation");
        // Number 9 of the same words, which no invoice has yet, and the wallet that pays for gas.
        let later = scene.ctl.clone().with("GATEWAY_TREASURY__POLYGON", NINTH);
        later.run(&arguments).await.expect_failure("is the address number 9 of addresses.evm");
        let gas_payer = scene.with_gas_payer().await;
        let paying = scene.ctl.clone().with("GATEWAY_TREASURY__POLYGON", &gas_payer);
        paying.run(&arguments).await.expect_failure("of treasury.gas_payer, which is ours");
        let wrong = scene.ctl.clone().with("GATEWAY_TREASURY__POLYGON", "0x12");
        wrong.run(&arguments).await.expect_failure("treasury.polygon");
        let tron = ["sweep", "plan", "--network", "tron", "--out", &file];
        scene.ctl.run(&tron).await.expect_failure("is not collected by this program");
        assert_eq!(scene.count("select count(*) from sweep").await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sums_are_shown_and_agreed_to_before_anything_is_signed() {
    on_anvil(|mut scene| async move {
        scene.paid(2_500, "usdcmatic").await;
        scene.until_settled(1).await;
        scene.with_gas_payer().await;
        let (planned, plan) = scene.plan().await;
        let out = scene.file("signed");
        let arguments = ["sweep", "sign", &plan, "--out", &out];
        // Before the words are looked at: these are none.
        let refused = scene.cold.run_with_input(&arguments, "no words").await;
        assert_eq!(refused.code, 2, "{refused:?}");
        let planned = &planned["transactions"][0];
        for shown in [
            "usdcmatic@polygon",
            TREASURY,
            planned["amount"].as_str().unwrap(),
            &format!("{} pol", planned["fee_max"].as_str().unwrap()),
            "repeat the command with --yes",
        ] {
            assert!(refused.stderr.contains(shown), "no {shown:?} in {refused:?}");
        }
        assert!(!std::path::Path::new(&out).exists());

        // The machine with the words has its own limit for the fees of tokens.
        let limit = "GATEWAY_TREASURY__TOKEN_FEE_MAX__POLYGON";
        let cheap = scene.cold.clone().with(limit, "0.000000001");
        let refused = scene.signed_by(&cheap, &plan, &out).await;
        refused.expect_failure("treasury.token_fee_max.polygon is 1000000000");
        let (skipped, _) = {
            scene.ctl.run(&["sweep", "drop", &id_of(&plan)]).await.expect_ok();
            scene.ctl = scene.ctl.clone().with(limit, "0.000000001");
            scene.plan().await
        };
        assert_eq!(skipped["plan_id"], json!(null));
        let reason = skipped["skipped"][0]["reason"].as_str().unwrap();
        assert!(reason.contains("treasury.token_fee_max"), "{skipped}");
    })
    .await;
}

fn id_of(plan: &str) -> String {
    let plan: Value = serde_json::from_str(&read(plan)).unwrap();
    plan["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_with_a_wrong_signature_are_not_stored_and_the_right_ones_still_are() {
    on_anvil(|mut scene| async move {
        scene.paid(2_500, "pol").await;
        let (planned, plan) = scene.plan().await;
        let id = planned["plan_id"].as_str().unwrap();
        let signed = scene.sign(&plan).await;
        let mut wrong: Value = serde_json::from_str(&read(&signed)).unwrap();
        let raw = hex::decode(wrong["transactions"][0]["raw"].as_str().unwrap()).unwrap();
        let read_back = gateway::payout::eip1559::read_signed(&raw).unwrap();
        let stranger = k256::ecdsa::SigningKey::from_slice(&[7; 32]).unwrap();
        let other = read_back.transaction.sign(&stranger);
        wrong["transactions"][0]["raw"] = json!(hex::encode(&other.raw));
        wrong["transactions"][0]["hash"] = json!(other.hash);
        let file = scene.file("wrong");
        std::fs::write(&file, wrong.to_string()).unwrap();
        let refused = scene.ctl.run(&["sweep", "send", &file, "--once"]).await;
        refused.expect_failure(&format!("the signature of {}", holder_of(&plan)));
        let stored = "select count(*) from sweep_transaction where raw is not null";
        assert_eq!(scene.count(stored).await, 0);

        scene.ctl.run(&["sweep", "send", &signed, "--once"]).await.expect_ok();
        let status = scene.until_ended(id).await;
        assert_eq!(status["state"], "collected", "{status}");
    })
    .await;
}

fn holder_of(plan: &str) -> String {
    let plan: Value = serde_json::from_str(&read(plan)).unwrap();
    plan["transactions"][0]["from"]["account"]["address"].as_str().unwrap().to_owned()
}
