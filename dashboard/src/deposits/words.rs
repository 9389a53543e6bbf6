//! The verdicts of an explanation in words.

use gateway::{
    app::deposit::explain::{Place, Standing, Told, TransactionStory, Verdict},
    deposit::BookedAs,
    storage::deposit_search::KnownAddress,
};

use super::amount;
use crate::shell::when;

pub fn place(story: &TransactionStory) -> String {
    let network = story.network.title();
    match &story.place {
        Place::Mined { height, mined_at, failed } => {
            let failed = if *failed { " It failed, so it moved nothing." } else { "" };
            format!("It stands in block {height} of {network}, {}.{failed}", when(mined_at))
        }
        Place::Waiting => format!("It waits on {network}: no final block holds it yet."),
        Place::Unknown => format!("No node of {network} knows it."),
    }
}

pub fn amount_of(told: &Told) -> String {
    let token_id = told.currency.map(|currency| currency.token_id());
    amount(&told.amount_text, token_id.as_deref())
}

pub fn owner(told: &Told) -> String {
    told.owner.as_ref().map_or_else(|| "no address of this gateway".to_owned(), whose)
}

pub fn whose(owner: &KnownAddress) -> String {
    let of = owner.payment_id.clone().or_else(|| owner.payout_order_id.clone());
    let of = of.or_else(|| Some(format!("merchant {}", owner.own_of?)));
    of.map_or_else(|| "ours".to_owned(), |of| format!("{of}, given for {}", owner.network))
}

/// The verdict, with the people who imported or accepted it.
pub fn verdict(told: &Told) -> String {
    let mut text = match &told.verdict {
        Verdict::NotOurs => "not counted: not an address of this gateway".to_owned(),
        Verdict::Zero => "not counted: its amount is zero".to_owned(),
        Verdict::BeforeAddress => {
            "not counted: its block is from before the address was given".to_owned()
        }
        Verdict::NotRead { cursor: Some(height) } => {
            format!("not yet: the watcher is at block {height}")
        }
        Verdict::NotRead { cursor: None } => "not yet: no watcher has begun".to_owned(),
        Verdict::ByBalance { key } => format!("counted by the address's balance, as {key}"),
        Verdict::Missed => "missed: it can be imported below".to_owned(),
        Verdict::Returned => {
            "taken out of the books, and in a block again: it can be accepted below".to_owned()
        }
        Verdict::Recorded(standing) => standing_of(standing, told.owner.as_ref()),
    };
    for (what, by) in [("imported", &told.imported_by), ("accepted", &told.accepted_by)] {
        if let Some(by) = by {
            text = format!("{text}; {what} by {by}");
        }
    }
    text
}

pub fn standing_at(standing: &Standing, owner: &KnownAddress) -> String {
    standing_of(standing, Some(owner))
}

fn standing_of(standing: &Standing, owner: Option<&KnownAddress>) -> String {
    match standing {
        Standing::Waiting => "not yet: seen, waits for a block".to_owned(),
        Standing::Confirming { have, need } => format!("not yet: {have} of {need} confirmations"),
        Standing::Final => "confirmed, about to be booked".to_owned(),
        Standing::Withdrawn => "not counted: it vanished before it was confirmed".to_owned(),
        Standing::Reversed => {
            "not counted: a reorganisation removed it after it was booked".to_owned()
        }
        Standing::Booked { as_what, events } => {
            let status = owner.and_then(|owner| owner.invoice_status);
            let status =
                status.map_or_else(String::new, |status| format!("; the invoice is {status}"));
            let events = match events.as_slice() {
                [] => "; no webhook reported it".to_owned(),
                events => format!("; reported as {}", events.join(", ")),
            };
            let words = match as_what {
                BookedAs::Credit => "counted",
                BookedAs::Late => "booked as late: it came after the end",
                BookedAs::Foreign => "not counted: another currency or network than asked",
                BookedAs::Suspicious => "not counted: an unknown token",
                BookedAs::Nothing | BookedAs::Gas => "booked as nothing",
            };
            format!("{words}{status}{events}")
        }
    }
}
