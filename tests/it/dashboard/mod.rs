//! The dashboard: who gets in, who may do what, and what its pages show.

mod announcement_mail;
mod attack;
mod authenticator;
mod custody;
mod default_urls;
mod factors;
mod front;
mod grown;
mod history;
mod invitation_mail;
mod links;
mod live;
mod merchant;
mod merchant_pages;
mod nc_payouts;
mod opening;
mod operator_acts;
mod operator_dead_letters;
mod operator_pages;
mod operator_payouts;
mod operator_views;
mod pages;
mod passkey_browser;
mod passkeys;
mod payouts;
mod payouts_pages;
mod reports;
mod roles;
mod screens;
mod sign_in;
mod subscriptions;
mod team;
mod till;
mod ways_in;
mod x402;
mod x402_health;

use std::{net::SocketAddr, sync::Arc};

use chrono::Utc;
use gateway::{
    account::{
        Role,
        totp::{TotpSecret, step_at},
    },
    app::Gateway,
    merchant::settings::Settings,
};
use serde_json::json;
use support::client::visitor::Visitor;
use support::server::stack::{Merchant, Stack, with_configured_stack};

pub const PASSWORD: &str = "correct horse battery";

/// A stack with a dashboard.
struct Desk {
    stack: Arc<Stack>,
    gateway: Arc<Gateway>,
    address: SocketAddr,
}

async fn with_desk<F: Future<Output = ()>>(test: impl FnOnce(Desk) -> F) {
    with_configured_stack("", |stack| async move {
        let (gateway, address) = stack.dashboard("").await;
        test(Desk { stack, gateway, address }).await;
    })
    .await;
}

impl Desk {
    fn visitor(&self) -> Visitor {
        Visitor::new(self.address, &self.gateway.config.dashboard_url)
    }

    /// Somebody with this role who signed in by a link of the sandbox.
    async fn signed_in(&self, email: &str, role: Role, merchant: Option<&Merchant>) -> Visitor {
        let id = merchant.map(|merchant| merchant.new.id);
        self.gateway.create_account(email, role, id).await.unwrap();
        self.signed_in_again(email).await
    }

    async fn signed_in_again(&self, email: &str) -> Visitor {
        Visitor::signed_in(self.address, &self.gateway, email).await
    }

    /// Somebody who accepted an invitation and so has a password.
    async fn invited(&self, email: &str, role: Role, merchant: Option<&Merchant>) -> Visitor {
        let id = merchant.map(|merchant| merchant.new.id);
        let made = self.gateway.create_account(email, role, id).await.unwrap();
        let (mut visitor, path) = (self.visitor(), path_of(&made.url));
        visitor.get(&path).await;
        let answer = visitor.post(&path, &[("password", PASSWORD)]).await;
        assert_eq!(answer.header("location"), Some("/account"), "{}", answer.body);
        visitor
    }

    /// Signs in by the form, up to the second factor.
    async fn by_password(&self, email: &str, password: &str) -> (Visitor, Answer) {
        let mut visitor = self.visitor();
        visitor.get("/sign-in").await;
        let answer = visitor.post("/sign-in", &[("email", email), ("password", password)]).await;
        (visitor, answer)
    }

    async fn merchant(&self) -> Merchant {
        self.stack.merchant_with(Settings::default()).await
    }
}

use support::client::Answer;

fn path_of(url: &str) -> String {
    url::Url::parse(url).unwrap().path().to_owned()
}

/// Creates a payment and returns its id.
async fn payment(merchant: &Merchant, order_id: &str) -> String {
    let body = json!({
        "price_amount": 25, "price_currency": "usd", "pay_currency": "usdtmatic", "order_id": order_id,
        "ipn_callback_url": "http://127.0.0.1:9/ipn",
    });
    let created = merchant.client.post("/v1/payment", &body).await;
    assert_eq!(created.status, 201, "{}", created.body);
    created.json()["payment_id"].as_str().unwrap().to_owned()
}

/// The text between two marks of a page.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before} in {text}"));
    rest.split_once(after).unwrap().0
}

/// Sets up an authenticator app for a visitor, who keeps his session.
async fn set_up_codes(visitor: &mut Visitor) -> (TotpSecret, Vec<String>) {
    let page = visitor.post("/account/codes", &[]).await;
    assert_eq!(page.status, 200, "{}", page.body);
    let key = between(&page.body, "<code class=\"once\">", "</code>").replace(' ', "");
    let secret = TotpSecret::from_bytes(unbase32(&key));
    let code = code_now(&secret, 0);
    let page = visitor.post("/account/codes/confirm", &[("code", &code)]).await;
    assert_eq!(page.status, 200, "{}", page.body);
    let codes = page.body.split("<li><code>").skip(1);
    let codes = codes.map(|rest| rest.split('<').next().unwrap().to_owned()).collect();
    (secret, codes)
}

/// The code of now, or of some steps later, which counts within half a minute.
#[expect(clippy::disallowed_methods, reason = "an authenticator app has a clock of its own")]
pub fn code_now(secret: &TotpSecret, steps: i64) -> String {
    secret.code(step_at(Utc::now()) + steps)
}

pub fn unbase32(text: &str) -> [u8; 20] {
    let digit = |c: char| "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".find(c).unwrap();
    let (mut bits, mut have, mut bytes) = (0_usize, 0, Vec::new());
    for letter in text.chars() {
        (bits, have) = (bits << 5 | digit(letter), have + 5);
        if have >= 8 {
            have -= 8;
            bytes.push(u8::try_from(bits >> have & 0xff).unwrap());
            bits &= (1 << have) - 1;
        }
    }
    bytes.try_into().unwrap()
}
