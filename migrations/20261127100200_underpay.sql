-- How much less than the amount due pays an invoice, as its merchant chose: nothing less by default. Invoices keep what their merchant
-- had when they were created; those that programs of the earlier release create have no tolerance.
alter table merchant
    add column underpay_bps integer not null default 0,
    add column underpay_when text not null default 'deadline';
alter table merchant
    add constraint merchant_underpay_range check (underpay_bps between 0 and 1000) not valid,
    add constraint merchant_underpay_when_known check (underpay_when in ('at_once', 'deadline')) not valid;
alter table invoice
    add column underpay_bps integer not null default 0,
    add column underpay_when text not null default 'deadline';
alter table invoice
    add constraint invoice_underpay_range check (underpay_bps between 0 and 1000) not valid,
    add constraint invoice_underpay_when_known check (underpay_when in ('at_once', 'deadline')) not valid;

drop trigger merchant_audited on merchant;
create trigger merchant_audited after insert or update on merchant for each row
    when (audited_operator() is not null)
    execute function audit_row('id', 'name', 'api_key_preview', 'overpay_bps', 'underpay_bps', 'underpay_when', 'payment_window_seconds',
        'selection_window_seconds', 'open_invoices_max', 'accepted_tokens', 'suspended_at', 'payout_webhook_url', 'logo_url',
        'payout_hour_usd_max', 'payout_day_usd_max', 'created_at');
