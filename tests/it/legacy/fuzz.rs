//! Signed requests of any content: an answer of the dialect, whatever they say.

use rand::{Rng, RngExt, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use serde_json::Value;
use support::{seed::seed, server::stack::with_stack};

use super::Legacy;

const COMMANDS: &[&str] = &[
    "get_basic_info",
    "rates",
    "balances",
    "get_deposit_address",
    "get_callback_address",
    "create_transaction",
    "get_tx_info",
    "get_tx_info_multi",
    "get_tx_ids",
    "create_withdrawal",
    "create_mass_withdrawal",
    "cancel_withdrawal",
    "get_withdrawal_history",
    "get_withdrawal_info",
    "convert",
    "",
    "none",
];
const FIELDS: &[&str] = &[
    "amount",
    "currency",
    "currency1",
    "currency2",
    "address",
    "buyer_email",
    "buyer_name",
    "item_name",
    "invoice",
    "custom",
    "ipn_url",
    "success_url",
    "txid",
    "id",
    "limit",
    "start",
    "newer",
    "all",
    "full",
    "short",
    "accepted",
    "label",
    "note",
    "add_tx_fee",
    "auto_confirm",
    "dest_tag",
    "wd[a][amount]",
    "wd[a][currency]",
    "wd[a][address]",
    "wd[",
    "wd[][]",
    "format",
    "refund_address",
];
const VALUES: &[&str] = &[
    "",
    "0",
    "1",
    "-1",
    "12.5",
    "1e9",
    "99999999999999999999",
    "-9223372036854775808",
    "9223372036854775807",
    "0.000000000000000001",
    "BTC",
    "USDT.POL",
    "USD",
    "usdt.pol",
    "\0",
    "🦀",
    "a|b||c",
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "http://shop.example/ipn",
    "<x>&\"'",
    "xml",
    "ada@example.com",
    "\u{feff}",
    "%00",
    "!'()*~&+ ",
];

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_request_says_the_answer_is_one_of_the_dialect() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let legacy = Legacy::of(&stack, &stack.merchant().await).await;
        let mut random = StdRng::seed_from_u64(seed());
        for _ in 0..300 {
            let cmd = *COMMANDS.choose(&mut random).unwrap();
            let count = random.random_range(0..9);
            let fields: Vec<(&str, String)> = (0..count)
                .map(|_| (*FIELDS.choose(&mut random).unwrap(), value(&mut random)))
                .collect();
            let sent: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let answer = legacy.answer(cmd, &sent).await;
            assert_eq!(answer.status, 200, "{cmd} {sent:?}: {}", answer.body);
            if answer.body.starts_with('<') {
                assert!(answer.body.contains("<error>"), "{cmd} {sent:?}: {}", answer.body);
                continue;
            }
            let json: Value = answer.json();
            assert!(json["error"].is_string() && !json["result"].is_null(), "{cmd}: {json}");
            assert_ne!(json["error"], "Internal error, try again later!", "{cmd} {sent:?}");
        }
        // Bodies that are no forms, and methods without a body.
        for body in ["", "\u{0}", "=&=&&", "version=1&key=%zz", "{\"version\":1}"] {
            let answer = legacy.client.send(http::Method::POST, "/legacy/api.php", body).await;
            assert_eq!(answer.status, 200, "{body}: {}", answer.body);
        }
        assert_eq!(legacy.client.get("/legacy/api.php").await.status, 200);
    })
    .await;
}

fn value(random: &mut impl Rng) -> String {
    let known = *VALUES.choose(random).unwrap();
    if random.random_bool(0.1) { known.repeat(300) } else { known.to_owned() }
}
