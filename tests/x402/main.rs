//! `make test-x402`: our verdicts on payments of programs beside those of another facilitator,
//! x402-rs, over one node with real EIP-3009 code.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

#[path = "../it/x402/scene.rs"]
#[allow(dead_code, reason = "the other tests of x402 use the rest")]
mod scene;

use std::{
    path::Path,
    process::{Output, Stdio},
    time::Duration,
};

use gateway::x402::{Word, authorization::Authorization};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use support::{lanes::Seeds, node::anvil::Anvil};
use tokio::{io::AsyncWriteExt, process::Command};

use scene::{CENT, CHAIN_ID, Payer, Scene, body, domain, with_scene};

/// Number of generated payments, half of them in each version.
const PAYMENTS: u64 = 120;
const PATIENCE: Duration = Duration::from_secs(120);
/// Contracts that x402-rs wants to find on a chain: a validator of signatures (EIP-6492), and those
/// of Permit2. Nothing here needs them.
const WANTED: [&str; 3] = [
    "0xdAcD51A54883eb67D95FAEb2BBfdC4a9a6BD2a3B",
    "0x000000000022D473030F116dDEE9F6B43aC78BA3",
    "0x402085c248EeA27D92E8b30b2C58ed07f9E20001",
];
/// Half of the order of the curve: a signature with a greater `s` is the same in its high form.
const ORDER: &str = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";

/// What is wrong with a generated payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    Stranger,
    OtherDomain,
    Expired,
    NearlyExpired,
    Early,
    Recipient,
    Less,
    Poor,
    Used,
    Truncated,
    Garbage,
    OtherAccepted,
    OtherNetwork,
    More,
    HighForm,
    ShortForm,
    Parity,
}

use Fault::{
    Early, Expired, Garbage, HighForm, Less, More, NearlyExpired, OtherAccepted, OtherDomain,
    OtherNetwork, Parity, Poor, Recipient, ShortForm, Stranger, Truncated, Used,
};

impl Fault {
    const ALL: [Self; 18] = [
        Self::None,
        Stranger,
        OtherDomain,
        Expired,
        NearlyExpired,
        Early,
        Recipient,
        Less,
        Poor,
        Used,
        Truncated,
        Garbage,
        OtherAccepted,
        OtherNetwork,
        More,
        HighForm,
        ShortForm,
        Parity,
    ];

    /// Our verdict, and theirs where it is another: they take a value above the amount, against the
    /// text of the scheme, and spell a signature anew that is in its high or its short form, which
    /// the text does not ask for.
    const fn verdicts(self) -> (bool, bool) {
        match self {
            // A parity of 0 or 1 instead of 27 or 28 is no fault.
            Self::None | Parity => (true, true),
            More | HighForm | ShortForm => (false, true),
            Stranger | OtherDomain | Expired | NearlyExpired | Early | Recipient | Less | Poor
            | Used | Truncated | Garbage | OtherAccepted | OtherNetwork => (false, false),
        }
    }
}

/// A payer with money, one without, and a request whose nonce is used.
struct Payers {
    rich: Payer,
    poor: Payer,
    used: u128,
}

/// A number below `below`, as whole hex digits.
fn minus(order: &str, value: &[u8]) -> Vec<u8> {
    let mut digits = hex::decode(order).unwrap();
    let mut borrow = 0_i16;
    for (digit, less) in digits.iter_mut().zip(value).rev() {
        let rest = i16::from(*digit) - i16::from(*less) - borrow;
        borrow = i16::from(rest < 0);
        *digit = u8::try_from(rest + 256 * borrow).unwrap();
    }
    digits
}

/// The signature in a form that a fault asks for.
fn spelt(fault: Fault, signature: &str) -> String {
    let bytes = hex::decode(&signature[2..]).unwrap();
    let (r, s, v) = (&bytes[..32], &bytes[32..64], bytes[64]);
    let bytes = match fault {
        Truncated => bytes[..40].to_vec(),
        Garbage => vec![7; 65],
        HighForm => [r, &minus(ORDER, s), &[27 + (28 - v)]].concat(),
        // EIP-2098: the parity in the highest bit of `s`.
        ShortForm => {
            let mut short = [r, s].concat();
            short[32] |= (v - 27) << 7;
            short
        }
        Parity => [r, s, &[v - 27]].concat(),
        _ => bytes.clone(),
    };
    format!("0x{}", hex::encode(bytes))
}

/// The authorization and its signature, with a fault.
async fn signed(
    scene: &Scene,
    (fault, nonce): (Fault, u128),
    accepts: &Value,
    payers: &Payers,
) -> (Authorization, String) {
    let payer = if fault == Poor { &payers.poor } else { &payers.rich };
    let nonce = if fault == Used { payers.used } else { nonce };
    let mut authorization = scene.authorization(payer, accepts, nonce).await;
    let now = scene.now().await;
    match fault {
        Expired => authorization.valid_before = (now - 60).into(),
        NearlyExpired => authorization.valid_before = (now + 2).into(),
        Early => authorization.valid_after = (now + 600).into(),
        Recipient => authorization.to = [9; 20],
        Less => authorization.value = Word::from(CENT - 1),
        More => authorization.value = Word::from(CENT + 1),
        _ => {}
    }
    let mut domain = domain();
    if fault == OtherDomain {
        domain.version = "1".to_owned();
    }
    let signer = if fault == Stranger { &payers.poor } else { payer };
    let signature = spelt(fault, &signer.sign(&domain, &authorization));
    (authorization, signature)
}

/// The request in a version's form.
fn request(
    version: u8,
    fault: Fault,
    accepts: &Value,
    (authorization, signature): &(Authorization, String),
) -> Value {
    let mut request = body(accepts, authorization, signature);
    if version == 2 {
        if fault == OtherAccepted {
            request["paymentPayload"]["accepted"]["amount"] = json!((CENT + 1).to_string());
        }
        if fault == OtherNetwork {
            request["paymentPayload"]["accepted"]["network"] = json!("eip155:8453");
        }
        return request;
    }
    let payload = request["paymentPayload"]["payload"].clone();
    // Version 1 has no accepted terms to differ from.
    let is_other = matches!(fault, OtherNetwork | OtherAccepted);
    let network = if is_other { "base" } else { "polygon" };
    json!({
        "x402Version": 1,
        "paymentPayload": { "x402Version": 1, "scheme": "exact", "network": network, "payload": payload },
        "paymentRequirements": {
            "scheme": "exact", "network": "polygon", "maxAmountRequired": accepts["amount"], "asset": accepts["asset"],
            "payTo": accepts["payTo"], "resource": "https://api.example/weather", "description": "", "mimeType": "",
            "maxTimeoutSeconds": accepts["maxTimeoutSeconds"], "extra": accepts["extra"],
        },
    })
}

/// Builds the other facilitator, if need be, and returns its program.
async fn other() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/x402.sh");
    let built = Command::new(script).arg("second").stderr(Stdio::inherit()).output().await.unwrap();
    assert!(built.status.success(), "x402-rs could not be built");
    String::from_utf8(built.stdout).unwrap().trim().to_owned()
}

async fn their_verdicts(program: &str, anvil: &Anvil, requests: &[Value]) -> Vec<Value> {
    for contract in WANTED {
        // STOP: anything but nothing.
        anvil.rpc("anvil_setCode", json!([contract, "0x00"])).await.unwrap();
    }
    let mut running = Command::new(program)
        .args([anvil.url(), &CHAIN_ID.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = running.stdin.take().unwrap();
    let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let writing = async move { stdin.write_all(lines.as_bytes()).await };
    let ended = async { tokio::join!(writing, running.wait_with_output()) };
    let (written, ended) = tokio::time::timeout(PATIENCE, ended).await.expect("it ends in time");
    let Output { status, stdout, stderr } = ended.unwrap();
    let complaint = String::from_utf8_lossy(&stderr);
    assert!(status.success() && written.is_ok(), "{complaint}");
    let told = String::from_utf8(stdout).unwrap();
    told.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_facilitator_agrees_on_every_generated_payment() {
    let program = other().await;
    let seed = Seeds::given("GATEWAY_TEST_SEEDS", 1).first;
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let accepts = &resource["accepts"][0];
        let payers =
            Payers { rich: scene.payer(7, 100 * CENT).await, poor: Payer::new(8), used: 1 };
        let first = scene.request(&payers.rich, accepts, payers.used).await;
        assert_eq!(scene.settle(&first).await["success"], true);
        let mut random = StdRng::seed_from_u64(seed);
        let (mut faults, mut requests) = (Vec::new(), Vec::new());
        for number in 0..PAYMENTS {
            // Each of them in both versions, then any.
            let all = Fault::ALL.len() as u64;
            let at = if number < 2 * all { number / 2 } else { random.random_range(0..all) };
            let fault = Fault::ALL[usize::try_from(at).unwrap()];
            let version = if number % 2 == 0 { 1 } else { 2 };
            let nonce = u128::from(number) + 2;
            let signed = signed(&scene, (fault, nonce), accepts, &payers).await;
            requests.push(request(version, fault, accepts, &signed));
            faults.push((version, fault));
        }
        let theirs = their_verdicts(&program, &scene.anvil, &requests).await;
        assert_eq!(theirs.len(), requests.len());
        for (((version, fault), request), their) in faults.iter().zip(&requests).zip(&theirs) {
            let our = scene.verify(request).await;
            let verdicts = (our["isValid"] == true, their["isValid"] == true);
            let told = format!("version {version}, {fault:?}: {our} and {their} of {request}");
            assert_eq!(verdicts, fault.verdicts(), "{told}");
            if verdicts == (true, true) {
                let payer = |verdict: &Value| verdict["payer"].as_str().unwrap().to_lowercase();
                assert_eq!(payer(&our), payer(their), "{told}");
            }
        }
    })
    .await;
}
