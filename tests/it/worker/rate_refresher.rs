//! Rates: stored for every currency that can be paid in.

use gateway::asset::catalogue::Catalogue;
use gateway_workers::Role;
use support::{server::broker::eventually, shop::with_shop};

#[tokio::test(flavor = "multi_thread")]
async fn the_fixed_provider_prices_every_currency_in_every_fiat_currency() {
    with_shop(|shop| async move {
        shop.run("update rate set observed_at = now() - interval '1 hour'").await;
        let gateway = &shop.stack.gateway;
        shop.stack.start(&[Role::RateRefresher]);
        eventually("all rates are fresh", async || {
            let stale = "select count(*) from rate where observed_at < now() - interval '1 minute'";
            (shop.number(stale).await == 0).then_some(())
        })
        .await;
        let market = gateway.market().await.unwrap();
        for currency in Catalogue::get().all() {
            for fiat in gateway::asset::Fiat::ALL {
                let rate = market.fresh_rate(currency.symbol, fiat);
                assert!(rate.is_ok(), "{} in {}", currency.token_id(), fiat.code());
            }
        }
        assert_eq!(shop.number("select count(*) from rate where source <> 'fixed'").await, 0);
    })
    .await;
}
