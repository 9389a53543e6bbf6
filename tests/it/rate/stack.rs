//! Several providers together (fault F51): a wrong, old or missing price is never sold at.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use expect_test::expect;
use gateway::rate::{
    CoinGecko, Fixed, Kraken, Last, Limits, Outcome, Provider, RateConfig, RateError, Stack,
};
use rust_decimal::{Decimal, dec};

use super::*;
use support::fault::fired::fired;

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).expect("a time")
}

fn market(price: &str) -> Act {
    ok(&format!(r#"{{"error":[],"result":{{"XETHZUSD":{{"a":["{price}"],"b":["{price}"]}}}}}}"#))
}

fn kraken(receiver: &Hostile) -> Provider {
    Provider::Kraken(Kraken::new(web(receiver)))
}

/// A short deadline where it is meant to run out, a long one where it must not.
fn limits(act: &Act) -> Limits {
    let runs_out = matches!(act, Act::SayAndHang(_) | Act::Trickle(..));
    let provider_deadline = Duration::from_millis(if runs_out { 500 } else { 20_000 });
    Limits { provider_deadline, ..Limits::default() }
}

fn last(price: Decimal) -> HashMap<Pair, Last> {
    let last = Last { price, observed_at: now() - TimeDelta::seconds(30) };
    HashMap::from([(pair("eth/usd"), last)])
}

fn shown(outcome: &Outcome) -> String {
    let quotes = outcome.quotes.iter().map(|q| format!("{} {} {}\n", q.pair, q.price, q.source));
    let refused = outcome.refused.iter().map(|refused| {
        let source = refused.source.unwrap_or("all");
        format!("{} {source}: {}\n", refused.pair, refused.reason)
    });
    let failed = outcome.failed.iter().map(|(name, error)| format!("{name}: {error}\n"));
    quotes.chain(refused).chain(failed).collect()
}

/// Result of one server's response, the only source, beside a last price of 3000.
async fn alone(act: Act) -> String {
    let limits = limits(&act);
    let receiver = Hostile::always(act).await;
    let stack = Stack::new(vec![kraken(&receiver)], limits);
    shown(&*stack.refresh(&pairs("eth/usd"), &last(dec!(3000)), now()).await)
}

#[tokio::test]
async fn the_price_of_a_single_provider_is_used_only_near_the_last_price() {
    const NONE: &str = "ETH/USD all: no provider has a price\n";
    let hung = Act::SayAndHang(b"HTTP/1.1 200 OK\r\n".to_vec());
    let slow = Act::Trickle(b"HTTP/1.1 200 OK\r\n\r\n{".to_vec(), Duration::from_millis(50));
    let busy = Act::answer("429 Too Many Requests", "");
    for (act, nothing, reason) in [
        (market("3010.5"), "", "ETH/USD 3010.5 kraken"),
        (
            market("30000"),
            "",
            "ETH/USD all: the price moved from 3000 to 30000 according to one provider alone",
        ),
        (
            market("300"),
            "",
            "ETH/USD all: the price moved from 3000 to 300 according to one provider alone",
        ),
        (hung, NONE, "kraken: did not answer in time"),
        (slow, NONE, "kraken: did not answer in time"),
        (busy, NONE, "kraken: refuses requests with a rate limit"),
        (ok("{}"), NONE, "kraken: sent an answer that cannot be parsed: it has no error list"),
    ] {
        assert_eq!(alone(act).await, format!("{nothing}{reason}\n"));
    }
    for (price, reason) in [
        ("0", "the price is zero or negative"),
        ("-3000", "the price is zero or negative"),
        ("NaN", "the price is not a number"),
        ("3e12", "the price is outside the plausible range"),
    ] {
        let expected = format!("ETH/USD kraken: {reason}\n{NONE}");
        assert_eq!(alone(market(price)).await, expected);
    }
}

/// The preferred provider's response beside a sound second one at 3000.
async fn beside_a_sound_one(first: Act) -> String {
    let limits = limits(&first);
    let receiver = Hostile::always(first).await;
    let stack = Stack::new(vec![kraken(&receiver), Provider::Fixed(Fixed)], limits);
    shown(&*stack.refresh(&pairs("eth/usd eth/eur"), &HashMap::new(), now()).await)
}

#[tokio::test]
async fn each_pair_falls_back_to_the_next_rate_source() {
    for (act, expected) in [
        (
            market("3001"),
            expect![[r#"
            ETH/USD 3001 kraken
            ETH/EUR 2400 fixed
        "#]],
        ),
        (
            market("0"),
            expect![[r#"
                ETH/USD 3000 fixed
                ETH/EUR 2400 fixed
                ETH/USD kraken: the price is zero or negative
            "#]],
        ),
        (
            market("30000"),
            expect![[r#"
            ETH/EUR 2400 fixed
            ETH/USD all: the providers disagree, from 3000 to 30000
        "#]],
        ),
        (
            Act::SayAndReset(vec![]),
            expect![[r#"
            ETH/USD 3000 fixed
            ETH/EUR 2400 fixed
            kraken: the connection closed before the answer was complete
        "#]],
        ),
        (
            Act::SayAndHang(vec![]),
            expect![[r#"
            ETH/USD 3000 fixed
            ETH/EUR 2400 fixed
            kraken: did not answer in time
        "#]],
        ),
    ] {
        expected.assert_eq(&beside_a_sound_one(act).await);
    }
}

#[tokio::test]
async fn a_price_that_is_hours_old_is_not_used() {
    let body = |age_s: i64| {
        let at = now().timestamp() - age_s;
        ok(&format!(r#"{{"ethereum":{{"usd":3000,"last_updated_at":{at}}}}}"#))
    };
    for (age_s, expected) in [
        (
            60,
            expect![[r#"
            ETH/USD 3000 coingecko
        "#]],
        ),
        (
            3 * 3600,
            expect![[r#"
                ETH/USD coingecko: the price is from 2027-01-15 05:00:00 UTC
                ETH/USD all: no provider has a price
            "#]],
        ),
        (
            -3600,
            expect![[r#"
                ETH/USD coingecko: the price is from 2027-01-15 09:00:00 UTC
                ETH/USD all: no provider has a price
            "#]],
        ),
    ] {
        let receiver = Hostile::always(body(age_s)).await;
        let provider = Provider::CoinGecko(CoinGecko::new(web(&receiver), None));
        let stack = Stack::new(vec![provider], Limits::default());
        let outcome = stack.refresh(&pairs("eth/usd"), &HashMap::new(), now()).await;
        expected.assert_eq(&shown(&outcome));
        fired(outcome.refused.len());
    }
}

#[tokio::test]
async fn a_stablecoin_that_lost_its_peg_has_no_price_in_any_currency() {
    let answer = r#"{"error":[],"result":{
        "USDTZUSD":{"a":["0.90"],"b":["0.90"]},"USDTEUR":{"a":["0.72"],"b":["0.72"]},
        "USDCUSD":{"a":["0.9995"],"b":["0.9995"]},"USDCEUR":{"a":["0.80"],"b":["0.80"]}}}"#;
    let receiver = Hostile::always(ok(answer)).await;
    let stack = Stack::new(vec![kraken(&receiver)], Limits::default());
    let wanted = pairs("usdt/usd usdt/eur usdc/usd usdc/eur");
    let outcome = stack.refresh(&wanted, &HashMap::new(), now()).await;
    expect![[r#"
        USDC/USD 1 kraken
        USDC/EUR 0.80 kraken
        USDT/USD all: a coin pegged to one unit is at 0.90
        USDT/EUR all: a coin pegged to one unit is at 0.90
    "#]]
    .assert_eq(&shown(&outcome));
}

#[tokio::test]
async fn a_failing_rate_provider_is_paused_and_a_healthy_one_is_not() {
    let failing = Hostile::always(Act::answer("500 Oops", "")).await;
    let sound = Hostile::always(market("3000")).await;
    let stack = Stack::new(vec![kraken(&failing), kraken(&sound)], Limits::default());
    for round in 0..3 {
        let outcome = stack.refresh(&pairs("eth/usd"), &HashMap::new(), now()).await;
        assert_eq!(outcome.quotes.len(), 1);
        let expected = if round == 0 { RateError::Status(500) } else { RateError::Resting };
        assert_eq!(outcome.failed, [("kraken", expected)]);
    }
    assert_eq!((failing.request_count(), sound.request_count()), (1, 3));
    fired(failing.request_count());
}

#[tokio::test]
async fn refreshes_at_the_same_time_are_one() {
    let receiver = Hostile::always(market("3000")).await;
    let stack = Stack::new(vec![kraken(&receiver)], Limits::default());
    let (wanted, none) = (pairs("eth/usd"), HashMap::new());
    let many = (0..20).map(|_| stack.refresh(&wanted, &none, now()));
    for outcome in futures_util::future::join_all(many).await {
        assert_eq!(outcome.quotes.len(), 1);
    }
    assert_eq!(receiver.request_count(), 1);
    stack.refresh(&wanted, &none, now()).await;
    assert_eq!(receiver.request_count(), 2, "a later refresh asks again");
}

#[tokio::test]
async fn the_configured_providers_are_asked_at_their_addresses() {
    let receiver = Hostile::reading(|_, request| {
        if request.starts_with("GET /proxy/0/public/Ticker ") { market("3000") } else { ok("{}") }
    })
    .await;
    let text =
        format!(r#"{{"providers":["kraken","fixed"],"kraken_url":"{}"}}"#, receiver.url("/proxy/"));
    let config: RateConfig = serde_json::from_str(&text).expect("a configuration");
    let stack = config.stack(&Egress::new(Policy::Operator));
    let outcome =
        tokio::spawn(async move { stack.refresh(&pairs("eth/usd"), &HashMap::new(), now()).await });
    let outcome = outcome.await.expect("no panic");
    assert_eq!(outcome.quotes[0].source, "kraken");
}
