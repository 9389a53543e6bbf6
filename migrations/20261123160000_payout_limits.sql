-- Limits on what is signed for one merchant, beside the global ones, and a quota of open orders.

-- In whole USD; null takes the default of the settings.
alter table merchant
    add column payout_hour_usd_max bigint constraint merchant_payout_hour_positive check (payout_hour_usd_max > 0),
    add column payout_day_usd_max bigint constraint merchant_payout_day_positive check (payout_day_usd_max > 0);

-- The quota counts open orders at each creation, however many have ended.
create index payout_order_open on payout_order (merchant_id)
    where state in ('draft', 'pending_deposit', 'funded', 'processing');
