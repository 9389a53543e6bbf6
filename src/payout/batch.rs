//! Batches and the single payments in them.
//!
//! A payment is signed once and its bytes are stored before they are broadcast. [`next_move`] then
//! decides, from the state on chain, if those bytes are rebroadcast, replaced by bytes that cannot
//! both confirm (replace-by-fee), or done. It never asks for a second transaction beside the first:
//! this rules out a double payment.

use std::time::Duration;

use crate::vocabulary::vocabulary;

vocabulary! {
    /// The state of a batch.
    pub enum BatchState: "state of a batch" {
        Pending = "pending",
        /// Some of its transactions are signed, not all are sent.
        Signing = "signing",
        Broadcasted = "broadcasted",
        Confirmed = "confirmed",
        /// Ended with at least one unpaid recipient.
        Failed = "failed",
    }
}

vocabulary! {
    /// The state of one recipient's row.
    pub enum ItemState: "state of a recipient's row" {
        Pending = "pending",
        Sent = "sent",
        Confirmed = "confirmed",
        Failed = "failed",
    }
}

/// Number of rows of a batch in each state.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Not signed yet.
    pub pending: u32,
    /// Signed, and never accepted by a node so far.
    pub signed: u32,
    pub sent: u32,
    pub confirmed: u32,
    pub failed: u32,
}

/// Derives the state of a batch from its rows alone, so that no message can contradict it. An ended
/// batch keeps its state.
pub const fn state_of(before: BatchState, rows: Tally) -> BatchState {
    match before {
        BatchState::Confirmed | BatchState::Failed => before,
        BatchState::Pending | BatchState::Signing | BatchState::Broadcasted => {
            let open = rows.pending + rows.signed + rows.sent;
            if open == 0 {
                if rows.failed > 0 { BatchState::Failed } else { BatchState::Confirmed }
            } else if rows.pending + rows.signed == 0 {
                BatchState::Broadcasted
            } else if matches!(before, BatchState::Broadcasted) {
                // A node that forgot a transaction does not make it unsent.
                BatchState::Broadcasted
            } else if rows.signed + rows.sent + rows.confirmed + rows.failed > 0 {
                BatchState::Signing
            } else {
                BatchState::Pending
            }
        }
    }
}

/// State of a payment on chain, over all of its signed versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// Neither in a block nor in the mempool.
    Nowhere,
    /// In the mempool of a node.
    Waiting,
    /// In a block. `depth` is 1 in the chain tip.
    Mined { depth: u64, succeeded: bool },
    /// In a block, and the token's own log of exactly this movement is missing. `moved`: the token
    /// logged another movement out of the sender. Without one, nothing may have moved, or the node
    /// left logs out.
    Unexplained { depth: u64, moved: bool },
    /// None of its versions is in the chain, and another transaction used its nonce or input, deep
    /// enough.
    Displaced,
}

impl Seen {
    /// Returns true if the block is deep enough to decide.
    pub const fn is_final(self, required: u64) -> bool {
        match self {
            Self::Mined { depth, .. } | Self::Unexplained { depth, .. } => depth >= required,
            Self::Nowhere | Self::Waiting | Self::Displaced => false,
        }
    }

    /// The same at the greatest depth that is not final yet.
    #[must_use]
    pub const fn not_yet_final(self, required: u64) -> Self {
        let depth = required.saturating_sub(1);
        match self {
            Self::Mined { succeeded, .. } => Self::Mined { depth, succeeded },
            Self::Unexplained { moved, .. } => Self::Unexplained { depth, moved },
            Self::Nowhere | Self::Waiting | Self::Displaced => self,
        }
    }
}

/// A payment whose bytes are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signed {
    /// Time since a node last accepted it; `None` if no node ever did.
    pub sent_for: Option<Duration>,
    /// Number of versions signed so far, including the first.
    pub versions: u32,
    /// True if a higher fee stays within the quote.
    pub can_pay_more: bool,
    /// True if the network now asks for more than the last version offers: then the number of
    /// versions is not limited, since each of them reaches the asked fee, or the quote.
    pub outbid: bool,
    /// Time without a block after which a higher fee is tried.
    pub patience: Duration,
}

impl Signed {
    /// Returns true if another version may be signed.
    pub const fn may_be_raised(self) -> bool {
        self.can_pay_more && (self.outbid || self.versions < VERSIONS_MAX)
    }
}

/// Next action for a payment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// Broadcast the stored bytes, for the first time or again.
    Send,
    Wait,
    /// Sign a replacement with the same nonce or input and a higher fee (RBF), or a child that pays
    /// for both (CPFP).
    Replace,
    Succeeded,
    /// Final without effect.
    Failed,
    /// A state that cannot arise by itself: an operator must look, and nothing more is sent.
    Alarm,
}

/// A node may have lost the transaction: the same bytes are sent again.
pub const RESEND_AFTER: Duration = Duration::from_secs(20);
/// If one of two nodes behind one address lags, the nonce looks for a while as if a foreign
/// transaction had used it.
pub const ALARM_AFTER: Duration = Duration::from_secs(600);
/// Maximum versions of one payment whose fee already meets the network's. Beyond them it only
/// waits.
pub const VERSIONS_MAX: u32 = 6;

/// Decides the next action from the state on chain; `required` is the depth that counts as final.
pub fn next_move(payment: Signed, seen: Seen, required: u64) -> Move {
    match (seen, payment.sent_for) {
        (Seen::Displaced, Some(since)) if since >= ALARM_AFTER => Move::Alarm,
        (Seen::Displaced, Some(_)) => Move::Wait,
        (Seen::Mined { depth, .. } | Seen::Unexplained { depth, .. }, _) if depth < required => {
            Move::Wait
        }
        (Seen::Unexplained { .. }, _) => Move::Alarm,
        (Seen::Mined { succeeded: true, .. }, _) => Move::Succeeded,
        (Seen::Mined { succeeded: false, .. }, _) => Move::Failed,
        (Seen::Nowhere | Seen::Waiting | Seen::Displaced, None) => Move::Send,
        (Seen::Nowhere | Seen::Waiting, Some(since)) => {
            let stuck = since >= payment.patience;
            if stuck && payment.may_be_raised() {
                Move::Replace
            } else if seen == Seen::Nowhere && since >= RESEND_AFTER {
                Move::Send
            } else {
                Move::Wait
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{expect, expect_file};
    use proptest::prelude::*;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(180);

    #[test]
    fn the_state_of_a_batch_by_its_rows() {
        let mut table = String::new();
        let rows = [
            ("2 pending", Tally { pending: 2, ..Tally::default() }),
            ("1 pending, 1 signed", Tally { pending: 1, signed: 1, ..Tally::default() }),
            ("1 pending, 1 sent", Tally { pending: 1, sent: 1, ..Tally::default() }),
            ("1 pending, 1 confirmed", Tally { pending: 1, confirmed: 1, ..Tally::default() }),
            ("1 pending, 1 failed", Tally { pending: 1, failed: 1, ..Tally::default() }),
            ("2 signed", Tally { signed: 2, ..Tally::default() }),
            ("1 signed, 1 sent", Tally { signed: 1, sent: 1, ..Tally::default() }),
            ("2 sent", Tally { sent: 2, ..Tally::default() }),
            ("1 sent, 1 confirmed", Tally { sent: 1, confirmed: 1, ..Tally::default() }),
            ("1 sent, 1 failed", Tally { sent: 1, failed: 1, ..Tally::default() }),
            ("2 confirmed", Tally { confirmed: 2, ..Tally::default() }),
            ("1 confirmed, 1 failed", Tally { confirmed: 1, failed: 1, ..Tally::default() }),
            ("2 failed", Tally { failed: 2, ..Tally::default() }),
        ];
        for before in BatchState::ALL {
            for (name, tally) in rows {
                let after = state_of(before, tally);
                writeln!(table, "{:11} | {name:22} | {}", before.as_str(), after.as_str()).unwrap();
            }
        }
        expect_file!["batch_table.txt"].assert_eq(&table);
    }

    #[test]
    fn the_next_action_for_a_signed_payment_by_state() {
        let seconds = |s| Some(Duration::from_secs(s));
        let payment = |sent_for, versions, can_pay_more| Signed {
            sent_for,
            versions,
            can_pay_more,
            outbid: false,
            patience: PATIENCE,
        };
        let mined = |depth, succeeded| Seen::Mined { depth, succeeded };
        let mut table = String::new();
        for (name, signed) in [
            ("never sent", payment(None, 1, true)),
            ("sent just now", payment(seconds(5), 1, true)),
            ("sent 20 s ago", payment(seconds(20), 1, true)),
            ("sent 180 s ago", payment(seconds(180), 1, true)),
            ("no fee left", payment(seconds(180), 1, false)),
            ("sixth version", payment(seconds(180), 6, true)),
            ("sixth, outbid", Signed { outbid: true, ..payment(seconds(180), 6, true) }),
            ("outbid, no fee", Signed { outbid: true, ..payment(seconds(180), 6, false) }),
            ("sent 600 s ago", payment(seconds(600), 6, true)),
        ] {
            for (what, seen) in [
                ("nowhere", Seen::Nowhere),
                ("waiting", Seen::Waiting),
                ("mined 2 of 3", mined(2, true)),
                ("mined 3 of 3", mined(3, true)),
                ("reverted 2 of 3", mined(2, false)),
                ("reverted 3 of 3", mined(3, false)),
                ("unexplained 2/3", Seen::Unexplained { depth: 2, moved: true }),
                ("unexplained 3/3", Seen::Unexplained { depth: 3, moved: false }),
                ("displaced", Seen::Displaced),
            ] {
                let what_next = next_move(signed, seen, 3);
                writeln!(table, "{name:14} | {what:15} | {what_next:?}").unwrap();
            }
        }
        expect_file!["payment_table.txt"].assert_eq(&table);
    }

    proptest! {
        /// Rules out the double payment, the purpose of this module: bytes are broadcast only while
        /// no version of the payment is final, and a payment in a block is never replaced.
        #[test]
        fn a_mined_payment_is_neither_rebroadcast_nor_replaced(
            sent in proptest::option::of(0_u64..100_000), versions in 1_u32..10, more: bool, outbid: bool,
            depth in 1_u64..100, succeeded: bool, required in 1_u64..64,
        ) {
            let sent_for = sent.map(Duration::from_secs);
            let payment =
                Signed { sent_for, versions, can_pay_more: more, outbid, patience: PATIENCE };
            let next = next_move(payment, Seen::Mined { depth, succeeded }, required);
            prop_assert!(matches!(next, Move::Wait | Move::Succeeded | Move::Failed));
            prop_assert_eq!(next == Move::Wait, depth < required);
        }

        #[test]
        fn an_ended_batch_never_changes(pending in 0_u32..3, signed in 0_u32..3, sent in 0_u32..3, confirmed in 0_u32..3, failed in 0_u32..3) {
            let tally = Tally { pending, signed, sent, confirmed, failed };
            for ended in [BatchState::Confirmed, BatchState::Failed] {
                prop_assert_eq!(state_of(ended, tally), ended);
            }
        }
    }

    #[test]
    fn a_transaction_is_final_only_in_a_block_with_enough_confirmations() {
        for seen in [Seen::Nowhere, Seen::Waiting, Seen::Displaced] {
            assert!(!seen.is_final(0));
            assert_eq!(seen.not_yet_final(3), seen);
        }
        let mined = |succeeded| move |depth| Seen::Mined { depth, succeeded };
        let kinds: [&dyn Fn(u64) -> Seen; 3] =
            [&mined(true), &mined(false), &|depth| Seen::Unexplained { depth, moved: true }];
        for at in kinds {
            assert_eq!([2, 3, 4].map(|depth| at(depth).is_final(3)), [false, true, true]);
            assert_eq!(at(9).not_yet_final(3), at(2));
        }
    }

    #[test]
    fn states_are_written_as_the_api_says_them() {
        let names: Vec<_> = BatchState::ALL.iter().map(|s| s.as_str()).collect();
        expect!["pending signing broadcasted confirmed failed"].assert_eq(&names.join(" "));
        let names: Vec<_> = ItemState::ALL.iter().map(|s| s.as_str()).collect();
        expect!["pending sent confirmed failed"].assert_eq(&names.join(" "));
    }
}
