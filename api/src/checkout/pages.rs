//! The pages as their templates see them.

use askama::{Template, filters::Safe};
use chrono::{DateTime, Utc};
use gateway::{
    app::invoice::{buyer_status::BuyerStatus, currency_choices::Choice, happened::Happened},
    invoice::{
        buyer_phase::Phase,
        happening::{self, Advice, Happening},
        payment::iso_8601,
        payment_uri::uri_comes_first,
        wallet_links::{Coins, WalletLink},
    },
    locale::coins,
    money::BaseUnits,
};
use url::{Position, Url};

use super::{
    brand::Contact,
    choices::{Choices, Coin, Unavailable, grouped},
    language::Texts,
    markup::{self, bold, clock_time, escaped, filled, plain, woven_html},
    qr,
    shell::Shell,
};
use crate::buyer_status::wire;

/// From the end of a payment to the shop's own page: time to read the end, and to stay.
const RETURN_SECONDS: u32 = 10;
/// The same for a buyer who may have sent something and has to note the number of the payment.
const RETURN_SECONDS_WITH_A_NOTE: u32 = 30;

/// A payment, in whatever phase it is.
#[derive(Template)]
#[template(path = "payment.html")]
pub struct PaymentPage {
    pub shell: Shell,
    id: String,
    phase: Phase,
    price: String,
    description: Option<String>,
    deadline: Deadline,
    follow_key: String,
    cancellable: bool,
    changeable: bool,
    /// The currency that another one is chosen for.
    instead_of: Option<String>,
    redirect: Option<Redirect>,
    asset: Option<Asset>,
    happened: Vec<Told>,
    /// The rate of the price, in a sentence.
    rate: Option<Safe<String>>,
    /// The link on which it can be started once more.
    again: Option<String>,
    coins: Vec<Coin>,
    /// Folded away until asked for or searched.
    more: Vec<Coin>,
    unavailable: Vec<Unavailable>,
    notice: Option<&'static str>,
}

/// There is nothing at this address, or it cannot be shown now.
#[derive(Template)]
#[template(path = "trouble.html")]
pub struct TroublePage {
    pub shell: Shell,
    pub missing: bool,
}

struct Deadline {
    iso: String,
    /// For buyers without scripts, who see no countdown.
    at: DateTime<Utc>,
    seconds_left: i64,
    minutes_left: i64,
}

/// The shop's own page, with its host shown so that no buyer is taken somewhere unseen.
struct Redirect {
    url: String,
    host: String,
}

/// A payment that did not simply count, in words.
struct Told {
    kind: &'static str,
    text: Safe<String>,
    /// The advice where the text does not say it.
    then: Option<&'static str>,
    tx_hash: String,
    explorer_url: Option<String>,
    /// Where the buyer has to write to the merchant.
    reference: Option<String>,
}

/// The currency in which a payment is made, as templates show it.
pub struct Asset {
    pub symbol: &'static str,
    pub network: &'static str,
    pub standard: &'static str,
    pub contract: Option<String>,
    pub address: String,
    pub due: String,
    pub received: String,
    pub unconfirmed: String,
    /// As it is copied: digit by digit as the API says it.
    pub to_send: String,
    /// The same as the page shows it.
    pub to_send_shown: String,
    pub excess: String,
    pub any_received: bool,
    pub any_unconfirmed: bool,
    /// Link to a wallet; none where it could lead to real coins.
    pub uri: Option<String>,
    pub uri_first: bool,
    pub wallets: Vec<WalletLink>,
    pub confirmations: u64,
    pub required: u64,
    pub transactions: Vec<(String, Option<String>)>,
    pub simulated: bool,
    /// Not of a simulated or test chain, whose addresses no wallet may be opened for.
    pub coins_are_real: bool,
}

impl PaymentPage {
    pub fn new(
        shell: Shell,
        status: &BuyerStatus,
        choices: &[Choice],
        notice: Option<&'static str>,
    ) -> Self {
        let Choices { coins, more, unavailable } = grouped(choices, shell.t);
        let shown = wire::BuyerStatus::render(status);
        let seconds_left = status.seconds_left;
        Self {
            id: status.payment_id.clone(),
            // Choices for an invoice that has a currency are asked for to change it.
            phase: if choices.is_empty() { status.phase } else { Phase::Choosing },
            instead_of: instead_of(status, choices),
            changeable: status.changeable && choices.is_empty(),
            price: shell.t.locale.price(&shown.price_amount, &shown.price_currency),
            description: status.order_description.clone(),
            deadline: Deadline {
                iso: iso_8601(status.expires_at),
                at: status.expires_at,
                seconds_left,
                minutes_left: (seconds_left + 59) / 60,
            },
            follow_key: follow_key(&shown),
            cancellable: status.cancellable,
            redirect: status.redirect_url.as_deref().and_then(redirect),
            asset: asset(status),
            happened: told(status, &shell),
            rate: rate(status, shell.t),
            again: status.again_at.as_deref().map(|link| shell.link_page(link, None)),
            coins,
            more,
            unavailable,
            notice,
            shell,
        }
    }

    fn title(&self) -> String {
        let t = self.shell.t;
        let text = match self.phase {
            Phase::Choosing => t.title_choose,
            Phase::Paying => t.title_pay,
            Phase::Confirming => t.confirming,
            Phase::Closing => t.closing,
            Phase::Paid | Phase::Overpaid => t.paid,
            Phase::Expired => t.expired,
            Phase::Cancelled => t.cancelled,
        };
        plain(text, &[("price", &self.price)])
    }

    fn return_seconds(&self) -> u32 {
        if self.may_be_under_way() { RETURN_SECONDS_WITH_A_NOTE } else { RETURN_SECONDS }
    }

    /// The buyer knew an address, and may have sent what nobody has seen yet.
    fn may_be_under_way(&self) -> bool {
        let unpaid = matches!(self.phase, Phase::Expired | Phase::Cancelled);
        unpaid && self.asset.is_some() && !self.has_arrived()
    }

    /// A payment of the buyer reached the merchant, if not in the way that was asked: nobody who
    /// has paid is told to begin once more. Strangers send unknown tokens.
    fn has_arrived(&self) -> bool {
        let unknown = Happening::UnknownToken.as_str();
        let kept = |one: &Told| one.reference.is_some() && one.kind != unknown;
        self.is_part() || self.happened.iter().any(kept)
    }

    /// A part of it, or all and more, arrived in time; of what came late `happened` tells.
    fn is_part(&self) -> bool {
        let Some(asset) = self.asset.as_ref().filter(|asset| asset.any_received) else {
            return false;
        };
        let late = Happening::Late.as_str();
        asset.transactions.len() > self.happened.iter().filter(|one| one.kind == late).count()
    }

    fn is_told_to_write(&self) -> bool {
        self.happened.iter().any(|one| one.reference.is_some())
    }

    /// The transaction to name where the end itself asks the buyer to write, about a part or an
    /// excess, and nothing else on the page does.
    fn own_transaction(&self) -> Option<&(String, Option<String>)> {
        let asks = self.phase == Phase::Overpaid || self.phase == Phase::Expired && self.is_part();
        let asset = self.asset.as_ref().filter(|_| asks && !self.is_told_to_write())?;
        asset.transactions.last()
    }

    fn reference_of(&self, tx_hash: &str) -> String {
        happening::reference(&self.id, tx_hash)
    }

    /// Transactions that nothing else on the page names.
    fn other_transactions(&self) -> Vec<&(String, Option<String>)> {
        let own = self.own_transaction().map(|(hash, _)| hash);
        let named = |hash: &String| {
            own == Some(hash) || self.happened.iter().any(|one| one.tx_hash == *hash)
        };
        let asset = self.asset.iter().flat_map(|asset| &asset.transactions);
        asset.filter(|(hash, _)| !named(hash)).collect()
    }

    fn write_at(&self, contact: &Contact) -> Safe<String> {
        filled(self.shell.t.write_at, &[("contact", &contact.label)])
    }

    /// Where the sandbox's button shows something new.
    const fn can_be_simulated(&self) -> bool {
        matches!(self.phase, Phase::Paying | Phase::Closing | Phase::Expired)
    }

    fn has_countdown(&self) -> bool {
        matches!(self.phase, Phase::Choosing | Phase::Paying)
    }

    /// The texts that hold values: `{symbol}`, `{network}`, `{amount}` and the like.
    fn fill(&self, text: &str) -> Safe<String> {
        let mut values = vec![("id", self.id.as_str()), ("shop", self.shell.shop())];
        if let Some(asset) = &self.asset {
            values.extend([
                ("symbol", asset.symbol),
                ("network", asset.network),
                ("due", asset.due.as_str()),
                ("amount", asset.received.as_str()),
                ("excess", asset.excess.as_str()),
                ("rest", asset.to_send_shown.as_str()),
            ]);
        }
        if let Some(redirect) = &self.redirect {
            values.push(("host", &redirect.host));
        }
        filled_by(text, &values, self.deadline.at, self.shell.t)
    }

    /// The whole minutes that are left, until the script counts them down.
    fn minutes_short(&self) -> String {
        let count = self.deadline.minutes_left.to_string();
        plain(self.shell.t.minutes_short, &[("count", &count)])
    }

    /// The seconds until the buyer is taken to the shop; the script counts them.
    fn return_clock(&self) -> Safe<String> {
        let count = format!("<span id=\"leaving-left\">{}</span>", self.return_seconds());
        woven_html(self.shell.t.seconds_short, &[("count", count)])
    }

    /// The time that is left, as a screen reader says it.
    fn minutes(&self, left: u64) -> String {
        let t = self.shell.t;
        plain(t.form(&t.minutes_left, left), &[("count", &left.to_string())])
    }

    /// A notice, whose one value is the merchant's name.
    fn fill_plain(&self, text: &str) -> String {
        plain(text, &[("shop", self.shell.shop())])
    }

    /// The same, where the amount is seen but does not count yet.
    fn fill_seen(&self, text: &str) -> Safe<String> {
        let asset = self.asset.as_ref();
        let values = asset.map(|asset| [("amount", &*asset.unconfirmed), ("symbol", asset.symbol)]);
        filled(text, &values.unwrap_or_default())
    }
}

impl Asset {
    pub fn address_html(&self) -> Safe<String> {
        markup::grouped(&self.address)
    }

    pub fn confirmations_text(&self, t: &Texts) -> String {
        let text = t.form(&t.confirmations, self.required);
        let (count, required) = (self.confirmations.to_string(), self.required.to_string());
        plain(text, &[("count", &count), ("required", &required)])
    }

    pub fn qr(&self, content: &str, label: &str) -> Safe<String> {
        let values =
            [("symbol", self.symbol), ("network", self.network), ("address", &*self.address)];
        qr::svg(content, &plain(label, &values)).unwrap_or(Safe(String::new()))
    }

    /// Everything that a wallet asks for, as text.
    pub fn all_in_one(&self, t: &Texts) -> String {
        format!(
            "{}: {} {}\n{}: {}\n{}: {}",
            t.amount, self.to_send, self.symbol, t.network, self.network, t.address, self.address
        )
    }

    pub fn is_token(&self) -> bool {
        self.contract.is_some()
    }
}

pub fn asset(status: &BuyerStatus) -> Option<Asset> {
    let asset = status.asset.as_ref()?;
    let plain = |amount: BaseUnits| amount.to_decimal(asset.decimals);
    let text = |amount: BaseUnits| coins(&plain(amount));
    // Where it is paid, what came later is told of apart.
    let is_paid = matches!(status.phase, Phase::Paid | Phase::Overpaid);
    let late = if is_paid { asset.received_late } else { BaseUnits::ZERO };
    let received = asset.received.remaining_after(late);
    Some(Asset {
        symbol: asset.symbol,
        network: asset.network.title(),
        standard: asset.standard,
        contract: asset.contract_address.clone(),
        address: asset.pay_address.clone(),
        due: text(asset.due),
        received: text(received),
        unconfirmed: text(asset.unconfirmed),
        to_send: plain(asset.to_send),
        to_send_shown: text(asset.to_send),
        excess: text(received.remaining_after(asset.due)),
        any_received: asset.received > BaseUnits::ZERO,
        any_unconfirmed: asset.unconfirmed > BaseUnits::ZERO,
        uri: asset.scannable_uri.clone(),
        wallets: asset.wallet_links.clone(),
        uri_first: asset.scannable_uri.is_some() && uri_comes_first(asset.network.family()),
        confirmations: asset.confirmations.unwrap_or(0),
        required: asset.required_confirmations,
        transactions: asset.tx_hashes.iter().cloned().zip(asset.explorer_urls.clone()).collect(),
        simulated: asset.simulated,
        coins_are_real: asset.coins == Coins::Real,
    })
}

/// The currency that was chosen, where the page offers the others.
fn instead_of(status: &BuyerStatus, choices: &[Choice]) -> Option<String> {
    let asset = status.asset.as_ref().filter(|_| !choices.is_empty());
    asset.map(|asset| asset.currency.token_id())
}

/// A text with the values of a payment, and the end of its time as `{time}`.
pub fn filled_by(
    text: &str,
    values: &[(&str, &str)],
    until: DateTime<Utc>,
    t: &Texts,
) -> Safe<String> {
    let values = values.iter().map(|(name, value)| (*name, bold(&escaped(value))));
    let values: Vec<_> = values.chain([("time", bold(&clock_time(until, t)))]).collect();
    woven_html(text, &values)
}

/// The rate of the price and its time.
fn rate(status: &BuyerStatus, t: &Texts) -> Option<Safe<String>> {
    let (rate, asset) = (status.rate.as_ref()?, status.asset.as_ref()?);
    let price = t.locale.price(&rate.price.to_string(), &status.price_currency);
    let values = [
        ("symbol", escaped(asset.symbol)),
        ("rate", escaped(&price)),
        ("time", clock_time(rate.fixed_at, t)),
    ];
    Some(woven_html(t.rate_fixed, &values))
}

/// The words about each payment that did not simply count. Of one that waits for its first
/// confirmations the page itself speaks.
fn told(status: &BuyerStatus, shell: &Shell) -> Vec<Told> {
    let shown = status.happened.iter().filter(|one| one.kind != Happening::Unconfirmed);
    shown.map(|one| tell(one, status, shell)).collect()
}

fn tell(one: &Happened, status: &BuyerStatus, shell: &Shell) -> Told {
    let t = shell.t;
    let text = match one.kind {
        Happening::Unconfirmed => t.seen_part,
        Happening::WrongToken => t.happened_wrong_token,
        Happening::WrongNetwork => t.happened_wrong_network,
        Happening::UnknownToken => t.happened_unknown_token,
        Happening::Late => t.happened_late,
        Happening::Replaced => t.happened_replaced,
        Happening::Dropped => t.happened_dropped,
        Happening::Reorganised => t.happened_reorganised,
        Happening::Reversed => t.happened_reversed,
    };
    let asset = status.asset.as_ref();
    let amount = coins(one.amount.as_deref().unwrap_or_default());
    let values = [
        ("shop", shell.shop()),
        ("amount", amount.as_str()),
        ("symbol", one.symbol.unwrap_or_default()),
        ("network", one.network.title()),
        ("wanted", asset.map_or("", |asset| asset.symbol)),
        ("wanted_network", asset.map_or("", |asset| asset.network.title())),
        ("by", one.replaced_by.as_deref().unwrap_or_default()),
    ];
    let writes = one.kind.advice() == Advice::Write;
    let is_foreign = matches!(one.kind, Happening::WrongToken | Happening::WrongNetwork);
    let then = match one.kind.advice_in(status.phase) {
        Advice::SendAgain => Some(t.happened_send_again),
        Advice::Write if is_foreign && status.phase == Phase::Paying => Some(t.happened_still_due),
        Advice::Write | Advice::Wait | Advice::Nothing => None,
    };
    Told {
        kind: one.kind.as_str(),
        text: filled(text, &values),
        then,
        tx_hash: one.tx_hash.clone(),
        explorer_url: one.explorer_url.clone(),
        reference: writes.then(|| one.reference.clone()),
    }
}

/// Checked again here although creation did: a link is followed with one tap.
fn redirect(text: &str) -> Option<Redirect> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let host = url[Position::BeforeHost..Position::AfterPort].to_owned();
    (!host.is_empty()).then(|| Redirect { url: url.into(), host })
}

/// The fields from which the page was rendered. The script makes the same text of each poll, and
/// asks for a new page if it differs.
pub fn follow_key(shown: &wire::BuyerStatus) -> String {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let happened: Vec<_> =
        shown.happened.iter().map(|one| format!("{}{}", one.kind, one.tx_hash)).collect();
    [
        shown.status.to_owned(),
        shown.is_draft.to_string(),
        text(&shown.amount_received),
        text(&shown.amount_unconfirmed),
        shown.confirmations.map(|count| count.to_string()).unwrap_or_default(),
        shown.cancellable.to_string(),
        (shown.seconds_left > 0).to_string(),
        happened.join(","),
    ]
    .join("|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_are_linked_and_their_host_is_the_real_one() {
        for (text, host) in [
            ("https://shop.example/thanks?a=1", Some("shop.example")),
            ("http://127.0.0.1:8080/x", Some("127.0.0.1:8080")),
            ("https://bank.example@evil.example/", Some("evil.example")),
            ("https:\\\\evil.example", Some("evil.example")),
            ("https://xn--pypal-4ve.com/", Some("xn--pypal-4ve.com")),
            ("https://pаypal.com/", Some("xn--pypal-4ve.com")),
            ("javascript:alert(1)", None),
            ("javascript://host/%0aalert(1)", None),
            ("data:text/html,x", None),
            ("//evil.example", None),
            ("/\t/evil.example", None),
            ("", None),
        ] {
            assert_eq!(redirect(text).map(|redirect| redirect.host).as_deref(), host, "{text}");
        }
    }
}
