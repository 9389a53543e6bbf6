//! The list of things that ask for somebody's attention, each with the place where one acts.

use gateway::{
    app::merchant::overview::Overview,
    asset::catalogue::Catalogue,
    deposit::BookedAs,
    money::digits_in_coins,
    storage::{endpoints::EndpointRow, overview::COUNTED_MAX},
};

use crate::shell::when;

/// Attempts below which a host is not judged.
const JUDGED_FROM: i64 = 3;

pub struct Need {
    pub href: String,
    pub text: String,
    pub detail: String,
}

pub fn needs(overview: &Overview) -> Vec<Need> {
    let mut needs = Vec::new();
    let attention = &overview.attention;
    if attention.dead_letters > 0 {
        let text = match attention.dead_letters {
            1 => "One webhook was given up".to_owned(),
            count => format!("{} webhooks were given up", counted(count)),
        };
        let detail = "Your receiver took none of its attempts. Mend it, then send again.";
        needs.push(Need { href: "/events?state=dead".into(), text, detail: detail.into() });
    }
    let failing = overview.endpoints.iter().filter(|endpoint| is_failing(endpoint));
    needs.extend(failing.map(|endpoint| Need {
        href: "/events#endpoints".into(),
        text: format!(
            "{} failed {} of its last {} attempts",
            endpoint.host,
            endpoint.attempts - endpoint.taken,
            endpoint.attempts
        ),
        detail: endpoint.last_error.clone().unwrap_or_default(),
    }));
    if attention.payouts_on_hold > 0 {
        let text = match attention.payouts_on_hold {
            1 => "One payout is on hold".to_owned(),
            count => format!("{count} payouts are on hold"),
        };
        let detail = "An operator looks at each before it goes out.";
        needs.push(Need { href: "/payouts".into(), text, detail: detail.into() });
    }
    if attention.subscriptions_past_due > 0 {
        let text = match attention.subscriptions_past_due {
            1 => "One subscription is past due".to_owned(),
            count => format!("{} subscriptions are past due", counted(count)),
        };
        let detail =
            "Nothing was paid three days after the renewal. A payment makes each active again.";
        needs.push(Need {
            href: "/subscriptions?state=past_due".into(),
            text,
            detail: detail.into(),
        });
    }
    needs.extend(overview.odd_deposits.iter().map(|deposit| {
        let token = deposit.token_id.as_deref();
        let currency = token.and_then(|token| Catalogue::get().by_token_id(token));
        let coins = currency.and_then(|of| {
            Some((digits_in_coins(&deposit.amount, u32::from(of.decimals))?, of.symbol))
        });
        let (amount, symbol) = coins.unwrap_or_else(|| (deposit.amount.clone(), "base units"));
        let reason = if deposit.booked_as == Some(BookedAs::Late) {
            "came after the payment had ended"
        } else {
            "came in another currency than asked"
        };
        let at = deposit.settled_at.as_ref().map(when).unwrap_or_default();
        // One without a payment stands in the statement alone.
        let payment = deposit.payment_id.as_ref().map(|id| format!("/payments/{id}"));
        Need {
            href: payment.unwrap_or_else(|| "/balance".to_owned()),
            text: format!("{amount} {symbol} {reason}"),
            detail: at,
        }
    }));
    needs
}

pub fn is_failing(endpoint: &EndpointRow) -> bool {
    endpoint.attempts >= JUDGED_FROM && endpoint.taken * 2 < endpoint.attempts
}

/// A count that ends at its bound.
pub fn counted(count: i64) -> String {
    if count >= COUNTED_MAX { "10,000+".to_owned() } else { count.to_string() }
}
