//! `gatewayctl payouts watch`: progress of an order, in one line that is rewritten, or line by line
//! without a terminal.

use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

use gateway::{
    app::{Gateway, payout::Story},
    money::BaseUnits,
    payout::{State, batch::Tally},
    storage::payouts::PayoutOrder,
};

use crate::render::{self, Lines};

/// Poll interval of the rows.
const PAUSE: Duration = Duration::from_millis(300);
const BAR_CELLS: u64 = 20;
/// Returns to the start of the line and clears it.
const AGAIN: &str = "\r\u{1b}[2K";

/// Reports the order until it has ended and owes nothing.
pub async fn follow(gateway: &Gateway, order_id: &str, json: bool) -> anyhow::Result<Story> {
    let mut line = Line::new(json);
    loop {
        let (order, rows) = gateway.payout_progress(order_id).await?;
        line.show(&describe(&order, rows))?;
        if has_ended(&order) {
            line.end()?;
            return Ok(gateway.explain_payout(order_id).await?);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Returns true if nothing more will happen without an operator.
fn has_ended(order: &PayoutOrder) -> bool {
    let books = &order.books;
    let goes_back = order.refund_address.is_some() && order.held.is_none();
    order.state.is_terminal() && books.reserved.is_zero() && (books.left().is_zero() || !goes_back)
}

struct Line {
    shown: String,
    silent: bool,
    live: bool,
}

impl Line {
    fn new(silent: bool) -> Self {
        Self { shown: String::new(), silent, live: io::stdout().is_terminal() }
    }

    fn show(&mut self, text: &str) -> io::Result<()> {
        if self.silent || self.shown == text {
            return Ok(());
        }
        text.clone_into(&mut self.shown);
        let mut out = io::stdout().lock();
        let text = render::clean(text, Lines::Join);
        if self.live { write!(out, "{AGAIN}{text}") } else { writeln!(out, "{text}") }?;
        out.flush()
    }

    fn end(&self) -> io::Result<()> {
        if self.live && !self.silent { writeln!(io::stdout().lock()) } else { Ok(()) }
    }
}

fn describe(order: &PayoutOrder, rows: Tally) -> String {
    let coins = |units: BaseUnits| {
        format!(
            "{} {}",
            units.to_decimal(u32::from(order.currency.decimals)),
            order.currency.symbol
        )
    };
    let books = &order.books;
    let address = order.deposit.as_ref().map_or("-", |place| place.address.as_str());
    let what = match order.state {
        State::Draft => "waits to be confirmed by its merchant".to_owned(),
        State::PendingDeposit if books.credited.is_zero() => {
            format!("waits for {} at {address}", coins(order.total_to_send))
        }
        State::PendingDeposit => {
            let missing = order.total_to_send.remaining_after(books.credited);
            format!("waits for {} more at {address}", coins(missing))
        }
        State::Funded => format!("{} arrived; nothing is signed yet", coins(books.credited)),
        State::Processing | State::Completed | State::PartialFailed => progress(rows),
        State::Expired => "was not funded in time".to_owned(),
        State::Cancelled => "nobody was paid".to_owned(),
    };
    let mut text = format!("{}  {what}", order.state.as_str());
    if let Some(reason) = &order.held {
        text = format!("{text}; HELD: {reason}");
    }
    if order.state.is_terminal() {
        text = format!("{text}{}", after(order, &coins));
    }
    text
}

/// `████████░░░░░░░░░░░░ 40 of 100 paid, 10 on their way, 1 failed`
fn progress(rows: Tally) -> String {
    let under_way = rows.signed + rows.sent;
    let all = rows.pending + under_way + rows.confirmed + rows.failed;
    let ended = u64::from(rows.confirmed + rows.failed);
    let full = ended * BAR_CELLS / u64::from(all.max(1));
    let cells = |text: &str, count: u64| text.repeat(usize::try_from(count).unwrap_or_default());
    let mut text = format!(
        "{}{} {} of {all} paid",
        cells("█", full),
        cells("░", BAR_CELLS - full),
        rows.confirmed
    );
    for (count, what) in [(under_way, "on their way"), (rows.failed, "failed")] {
        if count > 0 {
            text = format!("{text}, {count} {what}");
        }
    }
    text
}

/// Use of the money that paid no recipient.
fn after(order: &PayoutOrder, coins: &impl Fn(BaseUnits) -> String) -> String {
    let books = &order.books;
    let mut text = String::new();
    if !books.returned.is_zero() {
        text = format!("{text}; {} refunded", coins(books.returned));
    }
    let open = books.left().saturating_add(books.reserved);
    if !open.is_zero() {
        let how =
            if order.refund_address.is_some() { "goes back" } else { "waits for a refund address" };
        text = format!("{text}; {} {how}", coins(open));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_full_when_every_row_has_ended_and_not_before() {
        let rows = Tally { pending: 1, signed: 4, sent: 5, confirmed: 89, failed: 1 };
        assert_eq!(progress(rows), "██████████████████░░ 89 of 100 paid, 9 on their way, 1 failed");
        let ended = Tally { confirmed: 99, failed: 1, ..Tally::default() };
        assert_eq!(progress(ended), "████████████████████ 99 of 100 paid, 1 failed");
        let one_left = Tally { confirmed: 1_999, sent: 1, ..Tally::default() };
        assert_eq!(progress(one_left), "███████████████████░ 1999 of 2000 paid, 1 on their way");
    }
}
