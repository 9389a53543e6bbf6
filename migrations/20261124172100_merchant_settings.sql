-- A merchant's logo, and an audit log that shows the settings which operators change: none of them is a secret. Keys and sealed
-- secrets are still noted as changed without their value.
alter table merchant
    add column logo_url text constraint merchant_logo_url_length check (char_length(logo_url) between 1 and 2048);

drop trigger merchant_audited on merchant;
create trigger merchant_audited after insert or update on merchant for each row
    when (audited_operator() is not null)
    execute function audit_row('id', 'name', 'api_key_preview', 'overpay_bps', 'payment_window_seconds', 'selection_window_seconds',
        'open_invoices_max', 'accepted_tokens', 'suspended_at', 'payout_webhook_url', 'logo_url', 'payout_hour_usd_max',
        'payout_day_usd_max', 'created_at');
