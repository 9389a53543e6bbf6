//! Types of links.

use crate::{invoice::InvoiceType, vocabulary::vocabulary};

vocabulary! {
    /// Type of a link, and of the invoices that its visitors create.
    pub enum LinkKind: "type of link" {
        Payment = "payment",
        Donation = "donation",
        Subscription = "subscription",
        /// A till: the invoices are created by its enrolled devices.
        Pos = "pos",
    }
}

impl LinkKind {
    pub const fn invoice_type(self) -> InvoiceType {
        match self {
            Self::Payment => InvoiceType::Payment,
            Self::Donation => InvoiceType::Donation,
            Self::Subscription => InvoiceType::Subscription,
            Self::Pos => InvoiceType::Pos,
        }
    }
}
