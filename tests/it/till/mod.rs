//! The till: devices, their PINs, charges and takings, through the API and the pages.

mod api;
mod charges;
mod day;
mod enrolment;

use http::{HeaderMap, Method};
use serde_json::{Value, json};
use support::{
    client::{Answer, Client},
    server::stack::Stack,
};
use url::form_urlencoded;

const PIN: &str = "2580";

/// Creates a till and returns its `link_id`.
async fn till(merchant: &Client, changes: Value) -> String {
    let mut body = json!({ "type": "pos", "title": "Harbour café", "price_currency": "eur" });
    body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let made = merchant.post("/v1/links", &body).await;
    assert_eq!(made.status, 201, "{}", made.body);
    made.json()["link_id"].as_str().unwrap().to_owned()
}

/// A code that enrols a device called `name`, with the device's id.
async fn code(merchant: &Client, link_id: &str, name: &str) -> (String, String) {
    let path = format!("/v1/links/{link_id}/devices");
    let made = merchant.post(&path, &json!({ "name": name })).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let made = made.json();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    (text("code"), text("device_id"))
}

/// A browser on the page of a till, with its cookies and the fields of the page that it shows.
#[derive(Clone)]
struct Device {
    client: Client,
    link_id: String,
    cookies: Vec<(String, String)>,
    page: String,
}

impl Device {
    fn new(stack: &Stack, link_id: &str) -> Self {
        let (client, link_id) = (stack.buyer(), link_id.to_owned());
        Self { client, link_id, cookies: Vec::new(), page: String::new() }
    }

    /// A browser that was enrolled under [`PIN`] and shows the keypad.
    async fn enrolled(stack: &Stack, merchant: &Client, link_id: &str, name: &str) -> Self {
        let mut device = Self::new(stack, link_id);
        let (code, _) = code(merchant, link_id, name).await;
        let sent = device.enrol(&code, PIN).await;
        assert_eq!(sent.status, 303, "{}", sent.body);
        device.look().await;
        device
    }

    async fn send(&mut self, method: Method, action: &str, body: &str) -> Answer {
        let line: Vec<_> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let client = self.client.clone().with_header("cookie", &line.join("; "));
        let answer = client.send(method, &format!("/pos/{}{action}", self.link_id), body).await;
        self.keep(&answer.headers);
        answer
    }

    fn keep(&mut self, headers: &HeaderMap) {
        for line in headers.get_all("set-cookie") {
            let pair = line.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            self.cookies.retain(|(known, _)| known != name);
            self.cookies.push((name.to_owned(), value.to_owned()));
        }
    }

    /// Opens the till's page and returns it.
    async fn look(&mut self) -> Answer {
        let answer = self.send(Method::GET, "", "").await;
        self.page.clone_from(&answer.body);
        answer
    }

    /// Sends a form with the hidden fields of the page that was looked at last.
    async fn post(&mut self, action: &str, fields: &[(&str, &str)]) -> Answer {
        let mut all: Vec<(&str, String)> = Vec::new();
        for name in ["token", "key", "currency", "payment_id"] {
            if let Some(value) = self.field(name) {
                all.push((name, value));
            }
        }
        all.retain(|(known, _)| fields.iter().all(|(name, _)| name != known));
        all.extend(fields.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(all).finish();
        self.send(Method::POST, action, &body).await
    }

    fn field(&self, name: &str) -> Option<String> {
        let (_, rest) = self.page.split_once(&format!("name=\"{name}\" value=\""))?;
        Some(rest.split('"').next()?.to_owned())
    }

    async fn enrol(&mut self, code: &str, pin: &str) -> Answer {
        self.post("/enrol", &[("code", code), ("pin", pin), ("pin_again", pin)]).await
    }

    async fn unlock(&mut self, pin: &str) -> Answer {
        self.post("/unlock", &[("pin", pin)]).await
    }

    /// Charges an amount from the keypad and returns the payment that the page then shows.
    async fn charge(&mut self, amount: &str) -> String {
        let sent = self.post("/charge", &[("amount", amount)]).await;
        assert_eq!(sent.status, 303, "{}", sent.body);
        self.look().await;
        self.shown().unwrap_or_else(|| panic!("no charge is shown: {}", self.page))
    }

    /// The payment whose page is shown.
    fn shown(&self) -> Option<String> {
        let (_, rest) = self.page.split_once("data-key=\"")?;
        let key = rest.split(['|', '"']).next()?;
        key.starts_with("pzi_").then(|| key.to_owned())
    }

    fn shows_keypad(&self) -> bool {
        self.page.contains("data-key=\"ready\"")
    }
}

/// A time zone in which it is noon now, so that no day ends during a test.
pub async fn noon_zone(stack: &Stack) -> String {
    let hour = count(stack, "select extract(hour from now() at time zone 'UTC')::bigint").await;
    // In these names a plus is west of Greenwich.
    format!("Etc/GMT{:+}", hour - 12)
}

async fn count(stack: &Stack, query: &'static str) -> i64 {
    let mut connection = stack.database.connect().await;
    sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap()
}
