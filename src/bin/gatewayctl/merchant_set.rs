//! `gatewayctl merchant set`: settings after creation.

use clap::{ArgGroup, Args};
use gateway::{
    app::{
        Gateway,
        merchant::change::{Changes, Setting},
    },
    merchant::settings::UnderpayWhen,
    money::Bps,
    storage::merchants::MerchantRow,
};
use uuid::Uuid;

use crate::currency;

#[derive(Args)]
#[command(group = ArgGroup::new("change").required(true).multiple(true).args([
    "name", "overpay_bps", "underpay_bps", "underpay_when", "payment_window", "selection_window", "max_open_invoices", "accept", "accept_all",
    "payout_webhook_url", "no_payout_webhook_url", "ipn_callback_url", "no_ipn_callback_url", "success_url", "no_success_url",
    "cancel_url", "no_cancel_url", "logo_url", "no_logo_url",
]))]
pub struct Set {
    /// The merchant's id, a UUID
    #[arg(value_name = "ID")]
    id: Uuid,
    /// For people; need not be unique
    #[arg(long)]
    name: Option<String>,
    /// Overpayment tolerance, in basis points
    #[arg(long, value_name = "BPS")]
    overpay_bps: Option<u32>,
    /// Underpayment that still pays an invoice, in basis points, up to 1000
    #[arg(long, value_name = "BPS")]
    underpay_bps: Option<u32>,
    /// When such an underpayment pays: `at_once`, or at the `deadline`
    #[arg(long, value_name = "at_once|deadline")]
    underpay_when: Option<UnderpayWhen>,
    /// Time that a buyer has to pay
    #[arg(long, value_name = "SECONDS")]
    payment_window: Option<u32>,
    /// Time that a buyer has to choose the currency of an invoice in `all`
    #[arg(long, value_name = "SECONDS")]
    selection_window: Option<u32>,
    /// Maximum number of open invoices
    #[arg(long, value_name = "N")]
    max_open_invoices: Option<u32>,
    /// Currencies a buyer may choose, separated by commas; replaces the whole allowlist
    #[arg(long, value_name = "CODE[@NETWORK],…", value_delimiter = ',')]
    accept: Option<Vec<String>>,
    /// Removes the allowlist: a buyer may choose any enabled currency
    #[arg(long, conflicts_with = "accept")]
    accept_all: bool,
    /// Where webhooks about mass payouts go, from the next event on
    #[arg(long, value_name = "URL")]
    payout_webhook_url: Option<String>,
    /// Sends webhooks about mass payouts only to orders' own addresses
    #[arg(long, conflicts_with = "payout_webhook_url")]
    no_payout_webhook_url: bool,
    /// Where webhooks about payments go whose creation names no address
    #[arg(long, value_name = "URL")]
    ipn_callback_url: Option<String>,
    /// Sends webhooks about payments only to the addresses that they were created with
    #[arg(long, conflicts_with = "ipn_callback_url")]
    no_ipn_callback_url: bool,
    /// Where buyers go who have paid, unless the payment was created with an address
    #[arg(long, value_name = "URL")]
    success_url: Option<String>,
    /// Removes that address
    #[arg(long, conflicts_with = "success_url")]
    no_success_url: bool,
    /// Where buyers go whose payment was cancelled or has expired, unless it was created with an
    /// address
    #[arg(long, value_name = "URL")]
    cancel_url: Option<String>,
    /// Removes that address
    #[arg(long, conflicts_with = "cancel_url")]
    no_cancel_url: bool,
    /// The merchant's logo, an https address
    #[arg(long, value_name = "URL")]
    logo_url: Option<String>,
    /// Removes the logo
    #[arg(long, conflicts_with = "logo_url")]
    no_logo_url: bool,
}

impl Set {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<MerchantRow> {
        let accept = self.accept.map(|names| {
            let ids = names.iter().map(|name| currency::named(name).map(|c| c.token_id()));
            ids.collect::<anyhow::Result<Vec<_>>>()
        });
        let changes = Changes {
            name: self.name,
            overpay_tolerance: self.overpay_bps.map(Bps::new),
            underpay_tolerance: self.underpay_bps.map(Bps::new),
            underpay_when: self.underpay_when,
            payment_window_seconds: self.payment_window,
            selection_window_seconds: self.selection_window,
            open_invoices_max: self.max_open_invoices,
            accepted: setting(accept.transpose()?, self.accept_all),
            payout_webhook_url: setting(self.payout_webhook_url, self.no_payout_webhook_url),
            default_ipn_callback_url: setting(self.ipn_callback_url, self.no_ipn_callback_url),
            default_success_url: setting(self.success_url, self.no_success_url),
            default_cancel_url: setting(self.cancel_url, self.no_cancel_url),
            logo_url: setting(self.logo_url, self.no_logo_url),
        };
        Ok(gateway.change_merchant(self.id, changes).await?)
    }
}

fn setting<T>(value: Option<T>, removed: bool) -> Setting<T> {
    match value {
        Some(value) => Setting::Set(value),
        None if removed => Setting::Removed,
        None => Setting::Unchanged,
    }
}
