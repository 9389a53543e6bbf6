//! Changes by operators: quotas, currencies, announcements, deposits that came back.

use gateway::{
    account::Role,
    app::sandbox::simulate::Deposit,
    asset::{Network, catalogue::Catalogue},
    deposit::BookedAs,
    invoice::Status,
    merchant::settings::Settings,
};
use rust_decimal::Decimal;
use support::{
    server::broker::eventually,
    shop::{deposit, with_configured_shop, with_shop},
};

use super::{Desk, between, payment, with_desk};

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_is_changed_once_by_whoever_saw_it_and_noted() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut admin = desk.signed_in("a@example.com", Role::Admin, None).await;
        let path = format!("/operator/merchants/{}", merchant.new.id);
        let page = admin.get(&path).await.body;
        let version = between(&page, "name=\"version\" value=\"", "\"").to_owned();
        let fields = |open: &'static str| {
            [
                ("open_invoices_max", open),
                ("overpay_bps", "50"),
                ("payment_window", "900"),
                ("selection_window", "900"),
                ("name", "Mallory"),
            ]
        };
        let with_version = |open| {
            let mut all = fields(open).to_vec();
            all.push(("version", version.as_str()));
            all
        };
        let settings = format!("{path}/settings");
        let odd = admin.post(&settings, &with_version("many")).await;
        assert_eq!(odd.status, 422, "{}", odd.body);
        let saved = admin.post(&settings, &with_version("7")).await;
        assert_eq!(saved.status, 303, "{}", saved.body);
        let row = desk.gateway.merchant(merchant.new.id).await.unwrap();
        assert_eq!((row.open_invoices_max, row.overpay_bps), (7, 50));
        assert_ne!(row.name, "Mallory", "a field that the form lacks");
        let stale = admin.post(&settings, &with_version("9")).await;
        assert_eq!(stale.status, 422);
        assert!(stale.body.contains("somebody changed this meanwhile"), "{}", stale.body);
        let limits = format!("{path}/limits");
        let odd = admin.post(&limits, &[("hour_usd", "0"), ("day_usd", "")]).await;
        assert_eq!(odd.status, 422);
        let saved = admin.post(&limits, &[("hour_usd", "100"), ("day_usd", "")]).await;
        assert_eq!(saved.status, 303, "{}", saved.body);
        let own = desk.gateway.own_payout_limits(merchant.new.id).await.unwrap();
        assert_eq!((own.hour, own.day), (Some(100), None));
        let id = merchant.new.id.to_string();
        let audit = desk.gateway.audit(Some(&id), None).await.unwrap();
        assert!(audit.len() >= 2 && audit.iter().all(|entry| entry.operator == "a@example.com"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minimum_shows_its_effect_before_it_is_saved() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        payment(&merchant, "one").await;
        let mut admin = desk.signed_in("a@example.com", Role::Admin, None).await;
        let id = Catalogue::get().named("usdtmatic").unwrap().token_id();
        let path = format!("/operator/currencies/{id}");
        let list = admin.get("/operator/currencies?network=polygon").await.body;
        assert!(list.contains(&path), "{list}");
        let page = admin.get(&path).await.body;
        assert!(!page.contains("data-action=\"currency.change\""), "nothing was proposed yet");
        let effect = admin.get(&format!("{path}?enabled=yes&min_usd=30")).await.body;
        assert!(effect.contains("Of 1 payments within 30 days, 1 were below 30 USD at today's price, at 1 of the merchants"), "{effect}");
        let none = admin.get(&format!("{path}?enabled=no&min_usd=3")).await.body;
        assert!(none.contains("Of 1 payments within 30 days, 0 were below 3 USD at today's price, at 0 of the merchants"), "{none}");
        assert!(none.contains("1 open payments stay payable"), "{none}");
        let before = desk.gateway.currencies().await.unwrap();
        for odd in ["-1", "x", "1e3", "0.0000001"] {
            let answer = admin.get(&format!("{path}?enabled=yes&min_usd={odd}")).await;
            assert_eq!(answer.status, 422, "{odd}");
        }
        let seen = between(&effect, "name=\"seen\" value=\"", "\"").to_owned();
        let fields = [("seen", seen.as_str()), ("enabled", "no"), ("min_usd", "30")];
        let saved = admin.post(&path, &fields).await;
        assert_eq!(saved.status, 303, "{}", saved.body);
        let stale =
            admin.post(&path, &[("seen", &seen), ("enabled", "yes"), ("min_usd", "1")]).await;
        assert_eq!(stale.status, 422);
        assert!(stale.body.contains("somebody changed this meanwhile"), "{}", stale.body);
        let after = desk.gateway.currencies().await.unwrap();
        let state = after.iter().find(|state| state.currency.token_id() == id).unwrap();
        assert_eq!((state.enabled, state.min_usd), (false, Decimal::from(30)));
        assert_eq!(before.len(), after.len());
        let audit = desk.gateway.audit(Some(&id), None).await.unwrap();
        assert!(!audit.is_empty() && audit.iter().all(|entry| entry.operator == "a@example.com"));
        assert_eq!(admin.get("/operator/currencies/no@where").await.status, 404);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_announcement_is_seen_by_everybody_until_it_is_dismissed_or_withdrawn() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut admin = desk.signed_in("a@example.com", Role::Admin, None).await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        let mut viewer = desk.signed_in("v@example.com", Role::Viewer, Some(&merchant)).await;
        let page = admin.get("/operator/announcements").await.body;
        let id = between(&page, "name=\"id\" value=\"", "\"").to_owned();
        let here = "/operator/announcements";
        let title = "The old <b>API</b> ends in May";
        let odd = [("id", id.as_str()), ("title", " "), ("body", ""), ("days", "")];
        assert_eq!(admin.post(here, &odd).await.status, 422);
        let fields = [("id", id.as_str()), ("title", title), ("body", "Use /v1."), ("days", "30")];
        for _ in 0..2 {
            let done = admin.post(here, &fields).await;
            assert_eq!(done.status, 303, "{}", done.body);
        }
        let shown = "The old &#60;b&#62;API&#60;/b&#62; ends in May";
        for path in ["/", "/payments", "/settings", "/account"] {
            let page = owner.get(path).await.body;
            assert_eq!(page.matches("data-action=\"announcement.dismiss\"").count(), 1, "{page}");
            assert!(page.contains(shown), "{path}: {page}");
        }
        owner.get("/payments").await;
        let dismiss = format!("/announcements/{id}/dismiss");
        for (back, to) in [("/payments", "/payments"), ("https://evil.example", "/")] {
            let done = owner.post(&dismiss, &[("here", back)]).await;
            assert_eq!(done.header("location"), Some(to), "{}", done.body);
        }
        assert!(!owner.get("/payments").await.body.contains(shown));
        assert!(viewer.get("/payments").await.body.contains(shown), "another account's dismissal");
        admin.get(here).await;
        let withdraw = format!("{here}/{id}/withdraw");
        assert_eq!(admin.post(&withdraw, &[]).await.status, 303);
        assert_eq!(admin.post(&withdraw, &[]).await.status, 404);
        assert!(!viewer.get("/payments").await.body.contains(shown));
        let audit = desk.gateway.audit(Some(&id), None).await.unwrap();
        let acts: Vec<_> = audit.iter().map(|entry| entry.act.as_str()).collect();
        assert_eq!(acts, ["update", "insert"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_deposit_that_came_back_is_accepted_by_two_accounts() {
    let toml = "payouts.two_people_above_usd = 10\n";
    with_configured_shop(toml, Settings::default(), |shop| async move {
        shop.stack.start_all();
        let (gateway, address) = shop.stack.dashboard("").await;
        let desk = Desk { stack: shop.stack.clone(), gateway, address };
        let id = shop.invoice().await;
        let sent = shop.pay(&id, "100").await;
        shop.becomes(&id, Status::Paid).await;
        shop.stack.gateway.simulate_orphan(&sent.txid).await.unwrap();
        shop.stack.gateway.simulate_mine(Network::Polygon, 20).await.unwrap();
        let reversed = async || {
            let found = desk.gateway.deposit_alerts().await.unwrap();
            found.into_iter().find(|alert| alert.name == sent.txid)
        };
        eventually("the deposit is reversed", reversed).await;
        shop.send(&Deposit { txid: Some(sent.txid.clone()), ..deposit(&id, "100") }).await;
        let mut ada = desk.signed_in("ada@example.com", Role::Admin, None).await;
        let mut ben = desk.signed_in("ben@example.com", Role::OperatorFinance, None).await;
        assert!(ada.get("/operator/deposits").await.body.contains(&sent.txid));
        let explain = format!("/operator/deposits/explain?network=polygon&q={}", sent.txid);
        let seen = async |visitor: &mut super::Visitor| {
            eventually("it is there again", async || {
                let page = visitor.get(&explain).await.body;
                let there = page.contains("data-action=\"deposit.accept\"");
                there.then(|| between(&page, "name=\"seen\" value=\"", "\"").to_owned())
            })
            .await
        };
        let digest = seen(&mut ada).await;
        let fields = |seen| {
            [("network", "polygon"), ("q", sent.txid.as_str()), ("seen", seen), ("reason", "mined")]
        };
        let accept = "/operator/deposits/accept";
        let stale = ada.post(accept, &fields("another page")).await;
        assert_eq!(stale.status, 409, "{}", stale.body);
        for _ in 0..2 {
            let noted = ada.post(accept, &fields(digest.as_str())).await;
            let to = noted.header("location").unwrap_or_default().to_owned();
            assert!(to.ends_with("done=proposed"), "{to}: {}", noted.body);
        }
        // An account that she lets in now is no second person.
        ada.get("/operator/accounts").await;
        let offer = [("email", "alt@example.com"), ("role", "operator-finance")];
        assert_eq!(ada.post("/operator/accounts", &offer).await.status, 200);
        let mut alt = desk.signed_in_again("alt@example.com").await;
        let digest = seen(&mut alt).await;
        let refused = alt.post(accept, &fields(digest.as_str())).await;
        assert_eq!(refused.status, 409, "{}", refused.body);
        assert!(refused.body.contains("after the deposit was booked"), "{}", refused.body);
        let digest = seen(&mut ben).await;
        let done = eventually("its block is final", async || {
            let done = ben.post(accept, &fields(digest.as_str())).await;
            let to = done.header("location").unwrap_or_default().to_owned();
            to.ends_with("done=accepted").then_some(to)
        })
        .await;
        assert!(done.starts_with("/operator/deposits/explain?"), "{done}");
        eventually("it is booked again", async || {
            let story =
                desk.gateway.explain_transaction(Network::Polygon, &sent.txid, None).await.unwrap();
            story.transfers.iter().find(|told| told.accepted_by.is_some()).map(|told| {
                assert_eq!(told.accepted_by.as_deref(), Some("ben@example.com"));
            })
        })
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_deposit_is_listed_and_explained() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let (gateway, address) = shop.stack.dashboard("").await;
        let desk = Desk { stack: shop.stack.clone(), gateway, address };
        let id = shop.invoice().await;
        shop.end_window(&id, 1).await;
        shop.becomes(&id, Status::Expired).await;
        let sent = shop.pay(&id, "100").await;
        let late = (BookedAs::Late, None);
        let newest =
            (chrono::DateTime::from_timestamp(32_503_680_000, 0).unwrap(), uuid::Uuid::max());
        eventually("it is booked as late", async || {
            let rows = desk.gateway.odd_deposits(late, newest, 10).await.unwrap();
            rows.into_iter().find(|row| row.tx_hash == sent.txid)
        })
        .await;
        let mut support = desk.signed_in("s@example.com", Role::Support, None).await;
        let page = support.get("/operator/deposits?booked=late").await.body;
        assert!(page.contains(&sent.txid) && page.contains(&id), "{page}");
        let other = support.get("/operator/deposits?booked=late&network=bsc").await.body;
        assert!(!other.contains(&sent.txid), "{other}");
        let path = format!("/operator/deposits/explain?network=polygon&q={}", sent.txid);
        let story = support.get(&path).await.body;
        assert!(story.contains("booked as late") && story.contains(&id), "{story}");
        assert!(!story.contains("data-action=\"deposit."), "nothing is left to do: {story}");
        // A recorded transaction says its network itself.
        let path = format!("/operator/deposits/explain?q={}", sent.txid);
        let story = support.get(&path).await.body;
        assert!(story.contains("booked as late") && story.contains(&id), "{story}");
        let address = shop.payment(&id).await["pay_address"].as_str().unwrap().to_owned();
        let by_address = support.get(&format!("/operator/deposits/explain?q={address}")).await.body;
        assert!(by_address.contains(&sent.txid), "{by_address}");
        for odd in ["q=%00", "q=zz", "q=zz&network=polygon", "q=0xab&network=base", "network=x"] {
            let answer = support.get(&format!("/operator/deposits/explain?{odd}")).await;
            assert_eq!(answer.status, 200, "{odd}: {}", answer.body);
        }
    })
    .await;
}
