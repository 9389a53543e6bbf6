insert into invoice (id, payment_id, merchant_id, status, price_amount, price_currency, pricing_mode, token_id, network, decimals,
    pay_address, pay_amount, rate, rate_source, rate_at, credited, received, overpay_bps, order_id, payment_window_seconds,
    window_seconds, deadline_at, created_at, updated_at, ipn_callback_url, subscriber_email)
select gen_random_uuid(), 'pzi_' || substr(translate(md5('invoice' || n), 'abcdef', 'ghjkmn') || md5('x' || n), 1, 26),
    case when n % 4 = 0 then $2::uuid else $1::uuid end,
    case when n % 1000 = 0 then 'cancelled' when n % 3 = 0 then 'expired' else 'paid' end, 5 + n % 500, 'usd', 'fiat',
    case when n % 5 = 0 then 'btc@bitcoin' when n % 997 = 0 then 'usdtbsc@bsc' else 'usdtmatic@polygon' end,
    case when n % 5 = 0 then 'bitcoin' when n % 997 = 0 then 'bsc' else 'polygon' end, 6,
    '0x' || left(md5('a' || n) || md5('b' || n), 40), (5 + n % 500) * 1000000, 1, 'test', now(),
    case when n % 1000 = 0 or n % 3 = 0 then 0 else (5 + n % 500) * 1000000 end,
    case when n % 1000 = 0 or n % 3 = 0 then 0 else (5 + n % 500) * 1000000 end,
    50, 'grown-' || n, 1800, 1800, now() - n * interval '380 days' / $3 + interval '30 minutes', now() - n * interval '380 days' / $3,
    now() - n * interval '380 days' / $3, 'https://shop.example/ipn', case when n % 50 = 0 then 'buyer' || n || '@example.com' end
from generate_series(1, $3) as n;
insert into deposit_address (id, family, address, match_key, derivation_index, network, invoice_id, created_at)
select gen_random_uuid(), 'evm', pay_address, pay_address, 1000000 + row_number() over (), network, id, created_at
from invoice where order_id like 'grown-%';
insert into deposit (id, network, deposit_key, tx_hash, address_id, invoice_id, token_id, amount, amount_text, height, first_seen_at,
    final_at, state, booked_as, settled_at, fiat_currency, fiat_value, fiat_rate, fiat_rate_source, fiat_rate_at)
select gen_random_uuid(), i.network, 'grown:' || i.order_id, '0x' || md5(i.order_id) || md5(i.payment_id), a.id, i.id, i.token_id,
    i.pay_amount, i.pay_amount::text, 1, i.created_at, i.created_at, 'settled',
    case when i.price_amount = 77 then 'late' else 'credit' end, i.created_at, 'usd', i.price_amount, 1, 'test', i.created_at
from invoice i join deposit_address a on a.invoice_id = i.id where i.order_id like 'grown-%' and i.status = 'paid';
insert into ledger_entry (kind, source, asset, debit, credit, amount, created_at)
select case d.booked_as when 'late' then 'late_deposit' else 'deposit' end, d.id, d.token_id, 'custody:' || d.network,
    case d.booked_as when 'late' then 'late:' else 'merchant:' end || i.merchant_id, d.amount, d.settled_at
from deposit d join invoice i on i.id = d.invoice_id where d.deposit_key like 'grown:%' order by d.settled_at;
insert into delivery (id, event_id, channel, kind, merchant_id, invoice_id, subject, url, payload, state, attempts, last_status,
    last_error, dead_since, created_at, updated_at)
select gen_random_uuid(), 'evt_' || md5('event' || order_id), 'ipn', case status when 'paid' then 'finished' else 'expired' end,
    merchant_id, id, '00000000-0000-0000-0000-000000000000', ipn_callback_url, '{"payment_id":"' || payment_id || '"}',
    case when price_amount = 99 then 'dead' else 'delivered' end, case when price_amount = 99 then 5 else 1 end,
    case when price_amount = 99 then 500 else 200 end, case when price_amount = 99 then 'the receiver answered 500' end,
    case when price_amount = 99 then created_at end, created_at, created_at
from invoice where order_id like 'grown-%' and status in ('paid', 'expired');
insert into delivery_attempt (delivery_id, cycle, attempt, started_at, duration_ms, status)
select id, 1, attempts, created_at, 12, last_status from delivery where url = 'https://shop.example/ipn';
insert into event (event_id, merchant_id, type, resource_id, delivery_id, created_at, position)
select d.event_id, d.merchant_id, case d.kind when 'finished' then 'invoice.paid' else 'invoice.expired' end, i.payment_id, d.id,
    d.created_at, row_number() over ()
from delivery d join invoice i on i.id = d.invoice_id where d.url = 'https://shop.example/ipn';
insert into delivery (id, event_id, channel, kind, merchant_id, invoice_id, subject, url, payload, state, attempts, last_status,
    created_at, updated_at)
select gen_random_uuid(), d.event_id || '_' || n, 'ipn', 'confirming', d.merchant_id, d.invoice_id, md5(d.event_id || n)::uuid, d.url, d.payload,
    'delivered', 1, 200, d.created_at, d.created_at
from delivery d cross join generate_series(2, $4) as n where d.url = 'https://shop.example/ipn';
insert into delivery_attempt (delivery_id, cycle, attempt, started_at, duration_ms, status)
select id, 1, 1, created_at, 12, 200 from delivery where url = 'https://shop.example/ipn' and kind = 'confirming';
insert into deposit_address (id, family, address, match_key, derivation_index, network, created_at)
select gen_random_uuid(), 'evm', '0x' || left(md5('r' || n) || md5('s' || n), 40), '0x' || left(md5('r' || n) || md5('s' || n), 40),
    900000000 + n, 'polygon', now()
from generate_series(1, 200) as n;
insert into x402_resource (id, resource_id, merchant_id, address_id, url, description, mime_type, price, networks, timeout_seconds,
    listed, deleted_at)
select gen_random_uuid(), 'pzx_' || translate(left(md5('resource' || id), 26), 'abcdef', 'ghjkmn'),
    case when derivation_index % 4 = 0 then $2::uuid else $1::uuid end, id, 'https://shop.example/' || derivation_index, 'Weather',
    'application/json', 0.01, '{polygon}', 60, true, case when derivation_index % 5 = 0 then now() end
from deposit_address where derivation_index > 900000000 and network = 'polygon';
insert into x402_settlement (id, merchant_id, address_id, network, asset, payer, nonce, amount, call_sha256, call, valid_before, state,
    sender, tx_nonce, tx_hash, gas_usd, signed_at, fee, created_at, ended_at)
select gen_random_uuid(), r.merchant_id, r.address_id, 'polygon', '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359', '0xpayer' || n,
    sha256(n::text::bytea), 10000, sha256('c'), 'c', 2000000000, 'settled', '0xgas', n, '0x' || md5('t' || n) || md5('u' || n), 0.0012,
    now() - n * interval '380 days' / $3, 21000, now() - n * interval '380 days' / $3, now() - n * interval '380 days' / $3
from generate_series(1, $3) as n
join (select *, row_number() over () - 1 as place from x402_resource) as r on r.place = n % 200
