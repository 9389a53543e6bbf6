//! The exports, their columns and their formats. Names and orders are frozen: spreadsheets and
//! import rules of bookkeepers depend on them.

use crate::vocabulary::vocabulary;

vocabulary! {
    /// An export of a merchant's records.
    pub enum Export: "export" {
        Invoices = "invoices",
        /// One row per booked deposit, and one more with a minus sign if it was reversed.
        Payments = "payments",
        /// One row per recipient.
        Payouts = "payouts",
        Fees = "fees",
        /// Two rows per entry: the account that it left, and the account that it entered.
        Ledger = "ledger",
    }
}

vocabulary! {
    /// The format of an export.
    pub enum Format: "export format" {
        Csv = "csv",
        /// `{fields, data, from, to, generated_at}`.
        Json = "json",
        /// One JSON object per line.
        Ndjson = "ndjson",
        /// Koinly's custom CSV.
        Koinly = "koinly",
        /// CoinTracker's CSV.
        Cointracker = "cointracker",
        /// The bank statement with three columns that QuickBooks takes.
        Quickbooks = "quickbooks",
    }
}

impl Format {
    /// Returns true for the file of another product, which has movements instead of our columns.
    pub const fn is_of_movements(self) -> bool {
        match self {
            Self::Csv | Self::Json | Self::Ndjson => false,
            Self::Koinly | Self::Cointracker | Self::Quickbooks => true,
        }
    }

    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
            Self::Csv | Self::Koinly | Self::Cointracker | Self::Quickbooks => {
                "text/csv; charset=utf-8"
            }
        }
    }

    /// Words that a file's name has behind the export's own.
    pub const fn name_suffix(self) -> &'static str {
        match self {
            Self::Csv | Self::Json | Self::Ndjson => "",
            Self::Koinly => "-koinly",
            Self::Cointracker => "-cointracker",
            Self::Quickbooks => "-quickbooks",
        }
    }

    pub const fn extension(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Csv | Self::Koinly | Self::Cointracker | Self::Quickbooks => "csv",
        }
    }
}

vocabulary! {
    /// The type of a column, as the JSON format states it.
    pub enum ColumnType: "column type" {
        Text = "text",
        Decimal = "decimal",
        Integer = "integer",
        Time = "time",
    }
}

pub type Column = (&'static str, ColumnType);

use ColumnType::{Decimal, Integer, Text, Time};

const INVOICES: &[Column] = &[
    ("payment_id", Text),
    ("order_id", Text),
    ("invoice_type", Text),
    ("created_at", Time),
    ("finished_at", Time),
    ("payment_status", Text),
    ("price_amount", Decimal),
    ("price_currency", Text),
    ("pay_currency", Text),
    ("network", Text),
    ("pay_amount", Decimal),
    ("actually_paid", Decimal),
    ("overpaid_amount", Decimal),
    ("rate", Decimal),
    ("service_fee", Decimal),
    ("settled_amount", Decimal),
    ("order_description", Text),
];

const PAYMENTS: &[Column] = &[
    ("date_utc", Time),
    ("payment_id", Text),
    ("order_id", Text),
    ("tx_hash", Text),
    ("log_index", Integer),
    ("network", Text),
    ("currency", Text),
    ("contract_address", Text),
    ("amount", Decimal),
    ("confirmations", Integer),
    ("from_address", Text),
    ("to_address", Text),
    ("fiat_currency", Text),
    ("fiat_value", Decimal),
    ("rate", Decimal),
    ("rate_source", Text),
    ("kind", Text),
];

const PAYOUTS: &[Column] = &[
    ("date_utc", Time),
    ("order_id", Text),
    ("family", Text),
    ("batch_id", Text),
    ("item_reference", Text),
    ("address", Text),
    ("network", Text),
    ("currency", Text),
    ("amount", Decimal),
    ("network_fee", Decimal),
    ("service_fee", Decimal),
    ("tx_hash", Text),
    ("state", Text),
    ("fiat_value", Decimal),
];

const FEES: &[Column] = &[
    ("date_utc", Time),
    ("source_id", Text),
    ("kind", Text),
    ("currency", Text),
    ("amount", Decimal),
    ("fiat_value", Decimal),
    ("tx_hash", Text),
];

const LEDGER: &[Column] = &[
    ("entry_id", Integer),
    ("date_utc", Time),
    ("account", Text),
    ("currency", Text),
    ("debit", Decimal),
    ("credit", Decimal),
    ("balance_after", Decimal),
    ("source_type", Text),
    ("source_id", Text),
    ("tx_hash", Text),
    ("memo", Text),
];

impl Export {
    pub const fn columns(self) -> &'static [Column] {
        match self {
            Self::Invoices => INVOICES,
            Self::Payments => PAYMENTS,
            Self::Payouts => PAYOUTS,
            Self::Fees => FEES,
            Self::Ledger => LEDGER,
        }
    }

    /// Returns whether the export can be written in a format: files of other products hold
    /// movements of money, which invoices and fees are not by themselves.
    pub const fn is_written_as(self, format: Format) -> bool {
        match self {
            Self::Payments | Self::Payouts | Self::Ledger => true,
            Self::Invoices | Self::Fees => !format.is_of_movements(),
        }
    }

    /// The statuses that its rows can be chosen by.
    pub const fn has_statuses(self) -> &'static [&'static str] {
        match self {
            Self::Invoices | Self::Payments => {
                &["waiting", "partially_paid", "finished", "expired", "failed"]
            }
            Self::Payouts => &["pending", "sent", "confirmed", "failed"],
            Self::Fees | Self::Ledger => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{invoice::Status, payout::batch::ItemState};

    /// Another spelling or order would break import rules.
    #[test]
    fn columns_keep_their_names_and_their_order() {
        let heading = |export: Export| {
            let names: Vec<_> = export.columns().iter().map(|(name, _)| *name).collect();
            names.join(", ")
        };
        for (export, columns) in [
            (
                Export::Invoices,
                "payment_id, order_id, invoice_type, created_at, finished_at, payment_status, price_amount, price_currency, \
                 pay_currency, network, pay_amount, actually_paid, overpaid_amount, rate, service_fee, settled_amount, \
                 order_description",
            ),
            (
                Export::Payments,
                "date_utc, payment_id, order_id, tx_hash, log_index, network, currency, contract_address, amount, \
                 confirmations, from_address, to_address, fiat_currency, fiat_value, rate, rate_source, kind",
            ),
            (
                Export::Payouts,
                "date_utc, order_id, family, batch_id, item_reference, address, network, currency, amount, network_fee, \
                 service_fee, tx_hash, state, fiat_value",
            ),
            (Export::Fees, "date_utc, source_id, kind, currency, amount, fiat_value, tx_hash"),
            (
                Export::Ledger,
                "entry_id, date_utc, account, currency, debit, credit, balance_after, source_type, source_id, tx_hash, memo",
            ),
        ] {
            assert_eq!(heading(export), columns);
        }
    }

    #[test]
    fn rows_are_chosen_by_the_statuses_that_exist() {
        let known: std::collections::BTreeSet<_> =
            Status::ALL.iter().map(|status| status.for_merchant()).collect();
        let offered: std::collections::BTreeSet<_> =
            Export::Invoices.has_statuses().iter().copied().collect();
        assert_eq!(offered, known);
        let states: Vec<_> = ItemState::ALL.iter().map(|state| state.as_str()).collect();
        assert_eq!(Export::Payouts.has_statuses(), states);
        assert!(Export::Fees.has_statuses().is_empty() && Export::Ledger.has_statuses().is_empty());
    }

    #[test]
    fn files_of_other_products_are_made_of_movements_alone() {
        for export in Export::ALL {
            for format in Format::ALL {
                let moves = matches!(export, Export::Payments | Export::Payouts | Export::Ledger);
                let ours = matches!(format, Format::Csv | Format::Json | Format::Ndjson);
                assert_eq!(export.is_written_as(format), moves || ours, "{export} {format}");
            }
        }
    }
}
