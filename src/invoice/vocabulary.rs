//! Names of a status in four vocabularies (spec, "Equivalence").

use crate::vocabulary::vocabulary;

vocabulary! {
    /// The internal status, as the database keeps it.
    pub enum Status: "invoice status" {
        /// Created with `pay_currency` = `all`, no currency picked yet.
        Draft = "draft",
        Pending = "pending",
        Partial = "partial",
        Paid = "paid",
        Overpaid = "overpaid",
        Expired = "expired",
        Cancelled = "cancelled",
    }
}

/// Callback that the widget makes on the shop's page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WidgetCallback {
    OnPartial,
    OnSuccess,
    OnExpired,
    OnCancel,
}

impl Status {
    /// Terminal statuses never change (spec, Rules 2).
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Draft | Self::Pending | Self::Partial => false,
            Self::Paid | Self::Overpaid | Self::Expired | Self::Cancelled => true,
        }
    }

    /// Name shown to a buyer: the spec's internal vocabulary, in which a draft is `pending`.
    pub const fn for_buyer(self) -> &'static str {
        match self {
            Self::Draft | Self::Pending => "pending",
            Self::Partial => "partial",
            Self::Paid => "paid",
            Self::Overpaid => "overpaid",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }

    /// `payment_status` of the merchant API. It never says overpaid.
    pub const fn for_merchant(self) -> &'static str {
        match self {
            Self::Draft | Self::Pending => "waiting",
            Self::Partial => "partially_paid",
            Self::Paid | Self::Overpaid => "finished",
            Self::Expired => "expired",
            Self::Cancelled => "failed",
        }
    }

    /// The numeric code of the compatibility adapter.
    pub const fn adapter_code(self) -> i8 {
        match self {
            Self::Draft | Self::Pending | Self::Partial => 0,
            Self::Paid | Self::Overpaid => 100,
            Self::Expired | Self::Cancelled => -1,
        }
    }

    pub const fn widget_callback(self) -> Option<WidgetCallback> {
        match self {
            Self::Draft | Self::Pending => None,
            Self::Partial => Some(WidgetCallback::OnPartial),
            Self::Paid | Self::Overpaid => Some(WidgetCallback::OnSuccess),
            Self::Expired => Some(WidgetCallback::OnExpired),
            Self::Cancelled => Some(WidgetCallback::OnCancel),
        }
    }
}

vocabulary! {
    /// Unit of an invoice's price.
    pub enum Pricing: "pricing mode" {
        /// A price in fiat, converted at the rate of the moment.
        Fiat = "fiat",
        /// An amount of the very currency that is paid.
        Direct = "direct",
    }
}

vocabulary! {
    /// Origin of an invoice (spec, "Invoice types").
    pub enum InvoiceType: "invoice type" {
        Payment = "payment",
        Donation = "donation",
        Subscription = "subscription",
        Pos = "pos",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn the_equivalence_table_of_the_spec() {
        let table: String = Status::ALL
            .iter()
            .map(|s| {
                let callback = s.widget_callback().map_or("none".into(), |c| format!("{c:?}"));
                let (name, buyer, merchant) = (s.as_str(), s.for_buyer(), s.for_merchant());
                format!("{name:9} {buyer:9} {merchant:14} {:3} {callback}\n", s.adapter_code())
            })
            .collect();
        expect![[r#"
            draft     pending   waiting          0 none
            pending   pending   waiting          0 none
            partial   partial   partially_paid   0 OnPartial
            paid      paid      finished       100 OnSuccess
            overpaid  overpaid  finished       100 OnSuccess
            expired   expired   expired         -1 OnExpired
            cancelled cancelled failed          -1 OnCancel
        "#]]
        .assert_eq(&table);
    }
}
