//! Mass payouts through their forms: from a file with faults to the report, and everything that
//! must not become an order.

use std::fmt::Write;

use gateway::{
    account::Role,
    app::payout::{Confirmation, created_id},
    asset::Network,
};
use serde_json::json;
use support::{
    client::Answer,
    server::stack::{only, with_configured_stack},
    shop::payouts::{Payer, evm_address, new_order, row},
};

use super::{Desk, Visitor, between, with_desk};

const API: &str = "/v1/evm-mass-payout";
const CURRENCY: &str = "usdtmatic@polygon";

/// A desk over polygon alone with all workers, and a merchant whose receiver is told of payouts.
async fn with_payer<F: Future<Output = ()>>(test: impl FnOnce(Desk, Payer) -> F) {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.lift_rate_limits().await;
        stack.start_all();
        let (gateway, address) = stack.dashboard("").await;
        let payer = Payer::open(&stack).await;
        test(Desk { stack, gateway, address }, payer).await;
    })
    .await;
}

async fn somebody(desk: &Desk, payer: &Payer, role: Role) -> Visitor {
    desk.signed_in(&format!("{role}@example.com"), role, Some(&payer.merchant)).await
}

/// Rows of recipients below a heading.
fn file(rows: &[(u32, &str, &str)]) -> String {
    let mut text = "address,amount,reference\r\n".to_owned();
    for (address, amount, reference) in rows {
        writeln!(text, "{},{amount},{reference}\r", evm_address(*address)).unwrap();
    }
    text
}

async fn preview(visitor: &mut Visitor, content: &[u8]) -> Answer {
    visitor.get("/payouts/new").await;
    let refund = evm_address(900);
    let fields = [("currency", CURRENCY), ("refund_address", refund.as_str()), ("label", "June")];
    visitor.post_file("/payouts/new", &fields, ("june.csv", content)).await
}

/// The fields of the form that creates what a page shows.
fn fields_of(page: &str, action: &str) -> Vec<(String, String)> {
    let (_, form) = page
        .split_once(&format!("data-action=\"{action}\""))
        .unwrap_or_else(|| panic!("no {action} in {page}"));
    let form = form.split("</form>").next().unwrap();
    let hidden = form.split("<input type=\"hidden\" name=\"").skip(1).map(|rest| {
        let name = rest.split('"').next().unwrap();
        (name.to_owned(), unescaped(between(rest, "value=\"", "\"")))
    });
    let texts = form.split("<textarea name=\"").skip(1).map(|rest| {
        let name = rest.split('"').next().unwrap();
        // A parser drops the first line end of a text area.
        let text = between(rest, ">", "</textarea>");
        (name.to_owned(), unescaped(text.strip_prefix('\n').unwrap_or(text)))
    });
    hidden.chain(texts).filter(|(name, _)| name != "token").collect()
}

fn unescaped(text: &str) -> String {
    let text = text.replace("&#60;", "<").replace("&#62;", ">");
    text.replace("&#34;", "\"").replace("&#39;", "'").replace("&#38;", "&")
}

async fn post(visitor: &mut Visitor, path: &str, fields: &[(String, String)]) -> Answer {
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    visitor.post(path, &fields).await
}

/// Previews and creates an order of these rows; its id.
async fn created(visitor: &mut Visitor, rows: &[(u32, &str, &str)]) -> String {
    let page = preview(visitor, file(rows).as_bytes()).await.body;
    let answer = post(visitor, "/payouts", &fields_of(&page, "payout.create")).await;
    id_in(&answer)
}

fn id_in(answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{}", answer.body);
    between(answer.header("location").unwrap(), "/payouts/", "?").to_owned()
}

async fn count(desk: &Desk) -> i64 {
    let mut connection = desk.stack.database.connect().await;
    let query = sqlx::query_scalar("select count(*) from payout_order");
    query.fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_faults_is_mended_and_paid_out_to_the_report() {
    with_payer(|desk, payer| async move {
        let mut owner = somebody(&desk, &payer, Role::Owner).await;
        let faulty = format!(
            "\u{feff}address;amount;reference\r\n{one};10;a\r\nnobody;1;b\r\n{one};1e3;c\r\n\r\n{two};0;=SUM(1)\r\n{two};2.5\r\n",
            one = evm_address(1),
            two = evm_address(2)
        );
        let page = preview(&mut owner, faulty.as_bytes()).await;
        assert_eq!(page.status, 200);
        assert!(page.body.contains("4 rows that cannot be paid"), "{}", page.body);
        for (line, fault) in [
            (3, "address "),
            (4, "amount must be written with digits and at most one point"),
            (6, "reference starts like a formula"),
            (6, "amount must be more than zero"),
            (7, "row has a different number of cells than the heading"),
        ] {
            let found = page.body.split("<tr role=\"row\">").any(|row| {
                row.contains(&format!("class=\"number\">{line}</td>")) && row.contains(fault)
            });
            assert!(found, "line {line}: {fault} in {}", page.body);
        }
        assert!(page.body.contains("<dd>1</dd>") && page.body.contains("<dd>10 USDT</dd>"));
        assert!(!page.body.contains("payout.create") && page.body.contains("nobody;1;b"));
        assert_eq!(count(&desk).await, 0);

        let mended = file(&[(1, "10", "a"), (2, "2.5", "b"), (3, "0.000001", "c")]);
        let page = preview(&mut owner, mended.as_bytes()).await.body;
        assert!(page.contains("12.500001 USDT") && page.contains("To send in all"), "{page}");
        assert_eq!(count(&desk).await, 0);
        let fields = fields_of(&page, "payout.create");
        let (mut again, mut once) = (owner.clone(), owner.clone());
        let (first, second) =
            tokio::join!(post(&mut once, "/payouts", &fields), post(&mut again, "/payouts", &fields));
        let id = id_in(&first);
        assert_eq!(id_in(&second), id, "sent twice, it is one order");
        assert_eq!(count(&desk).await, 1);

        let path = format!("/payouts/{id}");
        let page = owner.get(&path).await.body;
        assert!(page.contains("class=\"state draft\"") && page.contains("June"), "{page}");
        let agreed = fields_of(&page, "payout.confirm");
        let done = post(&mut owner, &format!("{path}/confirm"), &agreed).await;
        assert_eq!(done.status, 303, "{}", done.body);
        let page = owner.get(&path).await.body;
        let order = payer.merchant.client.get(&format!("{API}/{id}")).await.json()["data"].clone();
        let address = order["depositAddress"].as_str().unwrap();
        for part in [address, "Send exactly", "minutes left", "<svg", "class=\"state pending_deposit\""] {
            assert!(page.contains(part), "{part} in {page}");
        }
        let due: u128 = order["totalToSendRaw"].as_str().unwrap().parse().unwrap();
        payer.fund(&order, due).await;
        payer.becomes(&id, "completed").await;
        payer.settles(&id).await;
        finished(&desk, &mut owner, &id).await;
    })
    .await;
}

/// Reads the pages of an order of three rows that was paid.
async fn finished(desk: &Desk, owner: &mut Visitor, id: &str) {
    let page = owner.get(&format!("/payouts/{id}")).await.body;
    for part in
        ["class=\"state completed\"", "3 of 3 paid", "mass_payout.completed", "settled, credit"]
    {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(!page.contains("data-action=\"payout."), "nothing is left to do: {page}");
    let failed = owner.get(&format!("/payouts/{id}?rows=failed")).await.body;
    assert!(between(&failed, "id=\"rows\"", "</section>").contains("<p>None.</p>"));
    let report = owner.get(&format!("/payouts/{id}/report.csv")).await;
    assert_eq!(report.header("content-type"), Some("text/csv; charset=utf-8"));
    let name = format!("attachment; filename=\"{id}.csv\"");
    assert_eq!(report.header("content-disposition"), Some(name.as_str()));
    let lines: Vec<_> = report.body.lines().collect();
    assert_eq!((lines.len(), lines[0].split(',').next()), (4, Some("row")));
    assert!(lines[1..].iter().all(|line| line.contains(",confirmed,0x")), "{lines:?}");
    let listed = owner.get("/payouts?kind=evm&state=completed").await.body;
    assert!(listed.contains(id) && listed.contains("12.500001 USDT"), "{listed}");
    for filter in ["kind=utxo", "kind=non-custodial", "state=draft"] {
        let listed = owner.get(&format!("/payouts?{filter}")).await.body;
        assert!(!listed.contains(id), "{filter}: {listed}");
    }
    let audit = desk.gateway.audit(Some(id), None).await.unwrap();
    let acts: Vec<_> = audit.iter().rev().map(|entry| entry.act.as_str()).collect();
    assert_eq!(acts.first(), Some(&"insert"), "{audit:?}");
    assert!(audit.iter().all(|entry| entry.operator == "owner@example.com"), "{audit:?}");
    assert!(format!("{audit:?}").contains("pending_deposit"), "{audit:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_files_are_refused_row_by_row_and_store_nothing() {
    with_payer(|desk, payer| async move {
        let mut owner = somebody(&desk, &payer, Role::Owner).await;
        let one = evm_address(1);
        let utf16: Vec<u8> = format!("\u{feff}address,amount\n{one},1\n")
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let many = file(&(1..=2_001).map(|n| (n, "1", "")).collect::<Vec<_>>());
        let below = |heading: &str, row: &str| format!("{heading}\n{one},{row}\n").into_bytes();
        let latin =
            [&b"address,amount,reference\n"[..], one.as_bytes(), b",1,M\xfcller\n"].concat();
        let cases: [(Vec<u8>, &str); 10] = [
            (Vec::new(), "There are no recipients yet"),
            (b"address,amount\n".to_vec(), "There are no recipients yet"),
            (b"wallet,amout\nA,1\n".to_vec(), "The heading cannot be read"),
            (utf16, "The file is not UTF-8 text"),
            (below("address,amount,reference", "1,M\0ller"), "The file is not UTF-8 text"),
            (latin, "reference is not UTF-8 text"),
            (below("address,amount,memo", "1,\"=HYPERLINK(1)\""), "memo starts like a formula"),
            (below("address,amount,memo", "1,\"a\tb\""), "memo contains a control character"),
            (many.into_bytes(), "more than 2000 rows"),
            (vec![b'a'; 1024 * 1024 + 1], "larger than 1 MiB"),
        ];
        for (content, words) in cases {
            let page = preview(&mut owner, &content).await;
            assert_eq!(page.status, 200, "{words}: {}", page.body);
            assert!(page.body.contains(words), "{words} in {}", page.body);
            assert!(!page.body.contains("payout.create"), "{words}: it could be created");
        }
        let script =
            format!("address,amount\n<script>alert(1)</script>,1\n\"</textarea>{one}\",2\n");
        let page = preview(&mut owner, script.as_bytes()).await.body;
        assert!(page.contains("2 rows that cannot be paid"), "{page}");
        assert!(!page.contains("<script>alert") && !page.contains("</textarea>0x"), "{page}");
        let huge = preview(&mut owner, &vec![b'a'; 2 * 1024 * 1024]).await;
        assert_eq!(huge.status, 413);
        // A thousand faulty rows are all there, and the page stays small enough to send.
        let mut faulty = "address,amount\n".to_owned();
        (0..1_000).for_each(|n| writeln!(faulty, "nobody{n},x").unwrap());
        let page = preview(&mut owner, faulty.as_bytes()).await.body;
        assert!(page.contains("1000 rows that cannot be paid") && page.contains("nobody999"));
        assert!(page.len() < 1_000_000, "{} bytes", page.len());
        assert_eq!(count(&desk).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_was_shown_is_created_and_only_the_quote_that_was_seen_is_confirmed() {
    with_payer(|desk, payer| async move {
        let mut owner = somebody(&desk, &payer, Role::Owner).await;
        let page = preview(&mut owner, file(&[(1, "10", "a")]).as_bytes()).await.body;
        let mut fields = fields_of(&page, "payout.create");
        let recipients = fields.iter_mut().find(|(name, _)| name == "recipients").unwrap();
        recipients.1 = recipients.1.replace(&evm_address(1), &evm_address(2));
        let refused = post(&mut owner, "/payouts", &fields).await;
        assert_eq!(refused.status, 422);
        assert!(refused.body.contains("This is not what was shown before"), "{}", refused.body);
        for (name, value) in [("key", "x"), ("seen", "x"), ("currency", "none@nowhere")] {
            let mut fields = fields_of(&page, "payout.create");
            fields.iter_mut().find(|(known, _)| known == name).unwrap().1 = value.to_owned();
            assert_eq!(post(&mut owner, "/payouts", &fields).await.status, 422, "{name}");
        }
        assert_eq!(count(&desk).await, 0);
        // The same form with another content creates no second order.
        let id = id_in(&post(&mut owner, "/payouts", &fields_of(&page, "payout.create")).await);
        let other = preview(&mut owner, file(&[(2, "10", "a")]).as_bytes()).await.body;
        let mut fields = fields_of(&other, "payout.create");
        let key = fields_of(&page, "payout.create").into_iter().find(|(n, _)| n == "key").unwrap();
        *fields.iter_mut().find(|(name, _)| name == "key").unwrap() = key;
        let refused = post(&mut owner, "/payouts", &fields).await;
        assert!(refused.body.contains("has created an order already"), "{}", refused.body);

        let path = format!("/payouts/{id}");
        let old = fields_of(&owner.get(&path).await.body, "payout.confirm");
        assert_eq!(owner.post(&format!("{path}/refresh"), &[]).await.status, 303);
        let refused = post(&mut owner, &format!("{path}/confirm"), &old).await;
        assert_eq!(refused.status, 409);
        assert!(
            refused.body.contains("The quote has changed since you saw it"),
            "{}",
            refused.body
        );
        assert_eq!(owner.post(&format!("{path}/confirm"), &[]).await.status, 409);
        let new = fields_of(&owner.get(&path).await.body, "payout.confirm");
        assert_eq!(post(&mut owner, &format!("{path}/confirm"), &new).await.status, 303);
        let cancelled = owner.post(&format!("{path}/cancel"), &[]).await;
        assert_eq!(cancelled.status, 303, "{}", cancelled.body);
        let page = owner.get(&path).await.body;
        assert!(page.contains("class=\"state cancelled\""), "{page}");
        let late = post(&mut owner, &format!("{path}/confirm"), &new).await;
        assert_eq!(late.status, 409);
        assert!(late.body.contains("The order is cancelled by now"), "{}", late.body);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn developers_and_viewers_read_and_another_merchants_order_looks_like_none() {
    with_payer(|desk, payer| async move {
        let mut finance = somebody(&desk, &payer, Role::Finance).await;
        let id = created(&mut finance, &[(1, "10", "secret")]).await;
        let path = format!("/payouts/{id}");
        let acts = ["confirm", "refresh", "cancel", "submit"];
        for role in [Role::Developer, Role::Viewer] {
            let mut reader = somebody(&desk, &payer, role).await;
            let page = reader.get(&path).await;
            assert_eq!(page.status, 200, "{role}");
            assert!(!page.body.contains("data-action=\"payout."), "{role}: {}", page.body);
            assert!(!reader.get("/payouts").await.body.contains("/payouts/new"), "{role}");
            assert_eq!(reader.get(&format!("{path}/report.csv")).await.status, 200, "{role}");
            assert_eq!(reader.get("/payouts/new").await.status, 403, "{role}");
            for act in acts {
                let answer = reader.post(&format!("{path}/{act}"), &[]).await;
                assert_eq!(answer.status, 403, "{role} {act}");
            }
            assert_eq!(reader.post("/payouts", &[]).await.status, 403, "{role}");
        }
        let theirs = desk.merchant().await;
        let mut stranger = desk.signed_in("x@example.com", Role::Owner, Some(&theirs)).await;
        stranger.get("/payouts").await;
        for path in [path.clone(), format!("{path}/report.csv"), format!("{path}/unsigned")] {
            let answer = stranger.get(&path).await;
            assert_eq!(answer.status, 404, "{path}");
            assert!(!answer.body.contains("secret"), "{path}");
        }
        for act in acts {
            let answer = stranger.post(&format!("{path}/{act}"), &[]).await;
            assert_eq!(answer.status, 404, "{act}: {}", answer.body);
        }
        assert!(!stranger.get("/payouts").await.body.contains(&id));
        payer.becomes(&id, "draft").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn payouts_of_all_kinds_are_one_list_without_a_gap() {
    with_desk(|desk| async move {
        desk.stack.lift_rate_limits().await;
        let merchant = desk.merchant().await;
        let ltc = "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9";
        let mut ids = Vec::new();
        for turn in 0..31_u32 {
            let (network, currency, address) = if turn % 3 == 0 {
                (Network::Litecoin, "ltc", ltc.to_owned())
            } else {
                (Network::Polygon, "usdtmatic", evm_address(turn))
            };
            if turn % 5 == 4 {
                let body = json!({
                    "network": "polygon", "currency": "pol", "fromAddress": evm_address(900),
                    "outputs": [{ "address": evm_address(turn), "amountRaw": "1000000" }],
                });
                let made = merchant.client.post("/v1/nc-payout", &body).await;
                assert_eq!(made.status, 201, "{}", made.body);
                ids.push(made.json()["data"]["id"].as_str().unwrap().to_owned());
                continue;
            }
            let order = new_order(network, currency, vec![row(1, address, 10_000_000)]);
            let made = desk.gateway.create_payout(merchant.new.id, &order).await.unwrap();
            ids.push(created_id(&made).unwrap());
        }
        ids.reverse();
        let mut viewer = desk.signed_in("v@example.com", Role::Viewer, Some(&merchant)).await;
        for (filter, prefix) in
            [("", ""), ("kind=evm", "empo_"), ("kind=utxo", "mpo_"), ("kind=non-custodial", "ncp_")]
        {
            let (mut path, mut seen) = (format!("/payouts?{filter}"), Vec::new());
            loop {
                let body = viewer.get(&path).await.body;
                let rows = body.split("<a href=\"/payouts/").skip(1);
                seen.extend(rows.map(|rest| rest.split('"').next().unwrap().to_owned()));
                let Some((_, rest)) = body.split_once("rel=\"next\" href=\"") else { break };
                path = unescaped(rest.split('"').next().unwrap());
            }
            let wanted: Vec<_> = ids.iter().filter(|id| id.starts_with(prefix)).cloned().collect();
            assert_eq!(seen, wanted, "{filter}");
        }
        let waiting = viewer.get("/payouts?state=awaiting_signature").await.body;
        assert!(waiting.contains("ncp_") && !waiting.contains("mpo_"), "{waiting}");
        for odd in ["older=x", "kind=y", "state=%00", "older=1-2&kind=evm"] {
            assert_eq!(viewer.get(&format!("/payouts?{odd}")).await.status, 200, "{odd}");
        }
        let order = ids.iter().find(|id| id.starts_with("mpo_")).unwrap();
        for odd in ["after=x", "after=-5", "after=2147483647", "rows=%27", "after=99999999999999"] {
            let answer = viewer.get(&format!("/payouts/{order}?{odd}")).await;
            assert_eq!(answer.status, 200, "{odd}");
        }
    })
    .await;
}

/// The dashboard does its part of payouts with the grants of its own role.
#[tokio::test(flavor = "multi_thread")]
async fn the_role_of_the_dashboard_creates_prices_confirms_and_cancels() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let merchant = stack.merchant().await;
        let roles = stack.under_roles().await;
        let gateway = &roles.gateway;
        let order =
            new_order(Network::Polygon, "usdtmatic", vec![row(2, evm_address(1), 10_000_000)]);
        let preview = gateway.preview_payout(merchant.new.id, &order).await.unwrap();
        assert!(preview.quote.is_some() && preview.faults.is_empty());
        let made = gateway.create_payout(merchant.new.id, &order).await.unwrap();
        let id = created_id(&made).unwrap();
        gateway.refresh_payout(merchant.new.id, &id).await.unwrap();
        let said = Confirmation::default();
        gateway.confirm_payout(merchant.new.id, &id, &said).await.unwrap();
        gateway.refresh_payout(merchant.new.id, &id).await.unwrap();
        gateway.cancel_payout(merchant.new.id, &id).await.unwrap();
        let look = gateway.look_at_payout(merchant.new.id, &id).await.unwrap();
        assert_eq!(look.view.state.as_str(), "cancelled");
    })
    .await;
}
