-- Payouts in the dashboard: merchants' accounts create, price, confirm and cancel orders there, with the grants that the API has for it.
-- No role gains a way to write a payment, and recipients stay bound by a digest whose key is not in the database.
insert into role_grant (role, what)
values
    ('gateway_dashboard', 'insert on payout_order, payout_item, payout_batch, payout_idempotency'),
    ('gateway_dashboard', 'update (network_fee, service_fee, total_to_send, quote_id, quote_created_at, quote_expires_at, fee_rate, '
        'native_price_usd, asset_price_usd, deposit_address, derivation_index, confirmed_at) on payout_order'),
    ('gateway_dashboard', 'update (net_amount) on payout_item');

-- Changes of orders are noted already (20261122130700_audit.sql); now also who created one, and each step of those that merchants sign.
create trigger payout_order_created_audited after insert on payout_order for each row
    when (audited_operator() is not null)
    execute function audit_row('order_id', 'order_id', 'merchant_id', 'state', 'token_id', 'item_count', 'payout_total');
create trigger nc_payout_audited after insert or update on nc_payout for each row
    when (audited_operator() is not null) execute function audit_row('payout_id', 'payout_id', 'merchant_id', 'state', 'token_id');

select grant_roles();
