-- Addresses of payments whose creation names none. Those that programs of the earlier release create get none.
alter table merchant
    add column default_ipn_callback_url text,
    add column default_success_url text,
    add column default_cancel_url text;

drop trigger merchant_audited on merchant;
create trigger merchant_audited after insert or update on merchant for each row
    when (audited_operator() is not null)
    execute function audit_row('id', 'name', 'api_key_preview', 'overpay_bps', 'underpay_bps', 'underpay_when', 'payment_window_seconds',
        'selection_window_seconds', 'open_invoices_max', 'accepted_tokens', 'suspended_at', 'payout_webhook_url',
        'default_ipn_callback_url', 'default_success_url', 'default_cancel_url', 'logo_url', 'payout_hour_usd_max',
        'payout_day_usd_max', 'created_at');
