//! Each provider's documented responses, and the prices read from them.

use expect_test::{Expect, expect};
use gateway::rate::{Batch, Binance, CoinGecko, Coinbase, Kraken, RateError, RateProvider};
use secrecy::SecretString;

use super::*;
use support::fault::fired::fired;

/// One line for each pair that was found or refused.
fn shown(outcome: Result<Batch, RateError>) -> String {
    let batch = match outcome {
        Ok(batch) => batch,
        Err(error) => return format!("{error}\n"),
    };
    let quotes = batch.quotes.iter().map(|quote| {
        let observed = quote.observed.map(|at| format!(" at {}", at.timestamp()));
        format!("{} {}{}\n", quote.pair, quote.price.normalize(), observed.unwrap_or_default())
    });
    let refused = batch.refused.iter().map(|r| format!("{} refused: {}\n", r.pair, r.reason));
    quotes.chain(refused).collect()
}

const KRAKEN: &str = r#"{"error":[],"result":{
    "XXBTZUSD":{"a":["60010.00000","1","1.000"],"b":["59990.00000","2","2.000"],"c":["1.0","0.1"]},
    "XXBTZEUR":{"a":["55010.0","1","1"],"b":["54990.0","1","1"]},
    "XETHZUSD":{"a":["3000.10","1","1"],"b":["2999.90","1","1"]},
    "XDGUSD":{"a":["0.1000002","1","1"],"b":["0.0999998","1","1"]},
    "USDTZUSD":{"a":["0.99981000","1","1"],"b":["0.99979000","1","1"]},
    "XTZUSD":{"a":["0.75","1","1"],"b":["0.75","1","1"]},
    "WBTCUSD":{"a":["59800","1","1"],"b":["59800","1","1"]},
    "USDCUSD":{"a":["1.0000","1","1"],"b":["1.0000","1","1"]},
    "GRAMUSD":{"a":["5.01","1","1"],"b":["4.99","1","1"]},
    "SOLUSD":{"a":["0.00000","1","1"],"b":["0.00000","1","1"]},
    "NEARUSD":{"a":["4.5","1","1"],"b":["3.5","1","1"]},
    "LINKUSD":{"a":["NaN","1","1"],"b":["NaN","1","1"]},
    "UNIUSD":{"a":[],"b":null},
    "TRXUSD":{"a":["-0.25","1","1"],"b":["-0.25","1","1"]}}}"#;

#[tokio::test]
async fn kraken_is_read_by_its_own_tickers() {
    let receiver = Hostile::always(ok(KRAKEN)).await;
    let wanted = "btc/usd btc/eur btc/gbp eth/usd doge/usd usdt/usd wbtc/usd cbbtc/usd btcb/usd \
                  USDC.e/usd ton/usd xt/usd sol/usd near/usd link/usd uni/usd trx/usd weth/usd";
    let found = Kraken::new(web(&receiver)).quotes(&pairs(wanted)).await;
    expect![[r#"
        BTC/USD 60000
        BTC/EUR 55000
        ETH/USD 3000
        DOGE/USD 0.1
        USDT/USD 0.9998
        WBTC/USD 59800
        CBBTC/USD 60000
        BTCB/USD 60000
        USDC.E/USD 1
        TON/USD 5
        WETH/USD 3000
        SOL/USD refused: the price is zero or negative
        NEAR/USD refused: bid 3.5 and ask 4.5 are crossed or too far apart
        LINK/USD refused: the price is not a number
        UNI/USD refused: the price is not a number
        TRX/USD refused: the price is zero or negative
    "#]]
    .assert_eq(&shown(found));
    let request = String::from_utf8(receiver.requests().remove(0)).expect("text");
    assert!(request.starts_with("GET /0/public/Ticker HTTP/1.1\r\n"), "{request}");
}

#[tokio::test]
async fn coinbase_is_asked_once_for_each_currency_and_inverted() {
    let receiver = Hostile::reading(|_, request| {
        let usd = r#"{"data":{"currency":"USD","rates":{"BTC":"0.00001250","ETH":"0.0004000000",
            "USDT":"1.0002","USDC":"1.0","SHIB":"80000.0","SOL":"0.0","NEAR":"0.2","LTC":null}}}"#;
        let eur = r#"{"data":{"currency":"EUR","rates":{"BTC":"0.00001600","EURC":"1.0"}}}"#;
        let other = r#"{"data":{"currency":"USD","rates":{}}}"#;
        let asked = |currency| request.contains(&format!("?currency={currency} "));
        ok(if asked("USD") {
            usd
        } else if asked("EUR") {
            eur
        } else {
            other
        })
    })
    .await;
    let coinbase = Coinbase::new(web(&receiver));
    let wanted = "btc/usd btc/eur eth/usd usdt/usd usdc.e/usd shib/usd eurc/eur eurc/usd sol/usd \
                  near/usd ltc/usd";
    expect![[r#"
        BTC/USD 80000
        BTC/EUR 62500
        ETH/USD 2500
        USDT/USD 0.9998000399920015996800639872
        USDC.E/USD 1
        SHIB/USD 0.0000125
        EURC/EUR 1
        SOL/USD refused: the price is zero or negative
        NEAR/USD refused: the price has too few digits to be inverted
        LTC/USD refused: the price is not a number
    "#]]
    .assert_eq(&shown(coinbase.quotes(&pairs(wanted)).await));
    assert_eq!(receiver.request_count(), 2, "no call for a currency that nobody wants");
    expect![[r#"
        sent an answer that cannot be parsed: it is about another currency
    "#]]
    .assert_eq(&shown(coinbase.quotes(&pairs("btc/gbp")).await));
}

fn binance(markets: &str) -> String {
    let market = |line: &str| {
        let mut words = line.split_whitespace();
        let mut word = || words.next().expect("SYMBOL BID ASK");
        format!(
            r#"{{"symbol":"{}","bidPrice":"{}","bidQty":"1","askPrice":"{}"}}"#,
            word(),
            word(),
            word()
        )
    };
    let list: Vec<_> =
        markets.lines().map(str::trim).filter(|l| !l.is_empty()).map(market).collect();
    format!("[{}]", list.join(","))
}

#[tokio::test]
async fn binance_prices_dollars_through_stablecoins_that_keep_their_peg() {
    let markets = "USDCUSDT 0.9990 1.0010
        BTCUSDC 59990 60010
        BTCUSDT 59000 59000
        ETHUSDT 2999 3001
        ETHEUR 2400 2400
        EURUSDT 1.2500 1.2500
        SOLUSDT 150 150
        SOLEUR 0.00 0.00
        FDUSDUSDT 0.9990 0.9990
        BNBUSDT 0.00000000 0.00000000";
    let wanted = "btc/usd eth/usd eth/eur sol/eur btc/eur btc/gbp usdt/usd usdc/usd usdt/eur \
                  fdusd/usd bnb/usd";
    let receiver = Hostile::always(ok(&binance(markets))).await;
    expect![[r#"
        BTC/USD 60000
        ETH/USD 3000
        ETH/EUR 2400
        SOL/EUR 120
        BTC/EUR 48000
        USDT/EUR 0.8
        FDUSD/USD 0.999
        BNB/USD refused: the price is zero or negative
    "#]]
    .assert_eq(&shown(Binance::new(web(&receiver)).quotes(&pairs(wanted)).await));

    for (dollars, expected) in [
        (
            "USDCUSDT 1.02 1.02",
            expect![[r#"
                BTC/USD refused: a coin pegged to one unit is at 1.02
            "#]],
        ),
        (
            "USDCUSDT 0.00 0.00",
            expect![[r#"
                BTC/USD refused: the price is zero or negative
            "#]],
        ),
        (
            "",
            expect![[r#"
                BTC/USD refused: no provider has a price
            "#]],
        ),
    ] {
        let answer = binance(&format!("{dollars}\nBTCUSDT 60000 60000"));
        let receiver = Hostile::always(ok(&answer)).await;
        let found = Binance::new(web(&receiver)).quotes(&pairs("btc/usd doge/usd")).await;
        expected.assert_eq(&shown(found));
    }
}

#[tokio::test]
async fn coingecko_keeps_every_digit_and_the_time() {
    let body = r#"{"bitcoin":{"usd":60000.123456789012345678,"eur":5.5e4,"last_updated_at":1800000000},
        "shiba-inu":{"usd":1.2345678901234567e-05,"last_updated_at":1800000001},
        "usd-coin":{"usd":0.9998},"tether":{"usd":null},"weth":{}}"#;
    let receiver = Hostile::always(ok(body)).await;
    let key = SecretString::from("CG-key".to_owned());
    let provider = CoinGecko::new(web(&receiver), Some(key));
    let wanted = "btc/usd btc/eur btc/gbp shib/usd usdc.e/usd btcb/usd usdt/usd weth/usd xmr/usd";
    expect![[r#"
        BTC/USD 60000.123456789012345678 at 1800000000
        BTC/EUR 55000 at 1800000000
        SHIB/USD 0.000012345678901234567 at 1800000001
        USDC.E/USD 0.9998
        BTCB/USD 60000.123456789012345678 at 1800000000
        USDT/USD refused: the price is not a number
    "#]]
    .assert_eq(&shown(provider.quotes(&pairs(wanted)).await));
    let request = String::from_utf8(receiver.requests().remove(0)).expect("text");
    let line = "GET /api/v3/simple/price?ids=bitcoin%2Cshiba-inu%2Ctether%2Cusd-coin%2Cweth\
                &vs_currencies=usd%2Ceur%2Cgbp&include_last_updated_at=true&precision=full HTTP/1.1";
    assert!(request.starts_with(line), "{request}");
    assert!(request.contains("x-cg-demo-api-key: CG-key\r\n"), "{request}");
    provider.quotes(&pairs("xmr/usd")).await.expect("nothing to ask");
    assert_eq!(receiver.request_count(), 1);
}

/// Result of every provider for a response that is not a list of prices.
async fn fault(act: Act) -> [String; 4] {
    let receiver = Hostile::always(act).await;
    let wanted = pairs("btc/usd");
    let said = [
        shown(Kraken::new(web(&receiver)).quotes(&wanted).await),
        shown(Coinbase::new(web(&receiver)).quotes(&wanted).await),
        shown(Binance::new(web(&receiver)).quotes(&wanted).await),
        shown(CoinGecko::new(web(&receiver), None).quotes(&wanted).await),
    ];
    fired(receiver.request_count());
    said
}

#[tokio::test]
async fn a_response_of_unexpected_shape_is_an_error_and_never_a_price() {
    for body in [
        "",
        "null",
        "[]",
        "[1]",
        "\"up\"",
        "<html>",
        "{\"error\":[],\"result\":[]}",
        "{\"data\":{}}",
    ] {
        for said in fault(ok(body)).await {
            let harmless = said.is_empty() && body.starts_with('{');
            assert!(
                harmless || said.starts_with("sent an answer that cannot be parsed"),
                "{body}: {said:?}"
            );
        }
    }
    let cut =
        Act::SayAndClose(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"error\":[],".to_vec());
    for said in fault(cut).await {
        assert_eq!(said, "the connection closed before the answer was complete\n");
    }
    let refused =
        r#"{"error":["EGeneral:Internal error"],"result":{"XXBTZUSD":{"a":["1"],"b":["1"]}}}"#;
    let receiver = Hostile::always(ok(refused)).await;
    let said = shown(Kraken::new(web(&receiver)).quotes(&pairs("btc/usd")).await);
    assert_eq!(said, "sent an answer that cannot be parsed: it reports an error\n");
}

#[tokio::test]
async fn the_rate_limit_answers_of_providers_are_recognised() {
    let busy =
        |head: &str| Act::Say(format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\n\r\n").into());
    let cases: [(Act, Expect); 5] = [
        (
            busy("429 Too Many Requests\r\nRetry-After: 120"),
            expect!["SlowDown { retry_after: Some(120s) }"],
        ),
        (
            busy("418 I'm a teapot\r\nRetry-After: 3600"),
            expect!["SlowDown { retry_after: Some(3600s) }"],
        ),
        (
            busy("503 Busy\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT"),
            expect!["SlowDown { retry_after: None }"],
        ),
        (busy("451 Unavailable For Legal Reasons"), expect!["Status(451)"]),
        (
            ok(r#"{"error":["EGeneral:Too many requests"]}"#),
            expect!["SlowDown { retry_after: None }"],
        ),
    ];
    for (act, expected) in cases {
        let receiver = Hostile::always(act).await;
        let error = Kraken::new(web(&receiver)).quotes(&pairs("btc/usd")).await;
        expected.assert_eq(&format!("{:?}", error.expect_err("a failure")));
    }
}
