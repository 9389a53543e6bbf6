//! The receipt of an invoice that a link created, for whoever left an address there.

use super::{About, QUEUE, new_mail};
use crate::{
    app::Gateway,
    asset::catalogue::Catalogue,
    locale::coins,
    mail::compose::{Contents, Receipt},
    storage::{PgConnection, StorageError, invoices::Invoice, mail},
};

impl Gateway {
    /// Writes the receipt of an invoice that was just paid. One that was paid, reversed and paid
    /// again gets none twice. The caller holds the invoice's row lock, and commits.
    pub(crate) async fn write_receipt(
        &self,
        tx: &mut PgConnection,
        invoice: &Invoice,
    ) -> Result<(), StorageError> {
        let Some(address) = address(invoice).filter(|_| self.config.mail.enabled) else {
            return Ok(());
        };
        let Some(payer) = mail::payer(tx, invoice.id).await? else { return Ok(()) };
        let view = &invoice.view;
        let checkout = self.config.checkout_url.trim_end_matches('/');
        let contents = Contents::Receipt(Receipt {
            title: payer.title,
            price: payer.language.price(&view.price_amount.to_decimal(), &view.price_currency),
            paid: paid(invoice),
            date: payer.language.moment(view.updated_at),
            payment_id: view.payment_id.clone(),
            url: format!("{checkout}/pay/{}", view.payment_id),
        });
        let about = About {
            subject: invoice.id,
            merchant_id: invoice.merchant_id,
            link: Some(payer.link),
            subscription: None,
            renewal_cycle: None,
        };
        let new = new_mail(about, address, payer.language, &contents);
        mail::insert(tx, &[new], QUEUE).await
    }
}

/// The address that a subscriber or a donor left; an anonymous donor's is not stored.
fn address(invoice: &Invoice) -> Option<&str> {
    let subscriber = invoice.view.subscription.as_ref().map(|one| one.subscriber_email.as_str());
    subscriber.or_else(|| invoice.donation.as_ref()?.donor_email.as_deref())
}

/// Amount, symbol and network of what was received.
fn paid(invoice: &Invoice) -> String {
    let Some(asset) = &invoice.view.asset else { return String::new() };
    let currency = invoice.token_id.as_deref().and_then(|id| Catalogue::get().by_token_id(id));
    let symbol = currency.map_or(asset.code.as_str(), |currency| currency.symbol);
    let amount = coins(&invoice.view.actually_paid.to_decimal(u32::from(asset.decimals)));
    format!("{amount} {symbol} ({})", asset.network)
}
