-- $1 is the number of rows. Each statement copies the rows of one finished order.
insert into merchant (id, name, api_key_sha256, api_key_preview, webhook_secret_sealed, overpay_bps, payment_window_seconds,
    selection_window_seconds, open_invoices_max)
select gen_random_uuid(), 'Old', decode(md5('key' || n) || md5(n::text), 'hex'), 'old', webhook_secret_sealed, overpay_bps,
    payment_window_seconds, selection_window_seconds, open_invoices_max
from (select * from merchant limit 1) as one, generate_series(1, 40) as n;
insert into invoice (id, payment_id, merchant_id, status, price_amount, price_currency, pricing_mode, token_id, network,
    decimals, contract, pay_address, pay_amount, rate, rate_source, rate_at, credited, received, overpay_bps, order_id,
    ipn_callback_url, payment_window_seconds, window_seconds, deadline_at, created_at, updated_at)
select gen_random_uuid(), 'pzi_' || md5('invoice' || n), merchants[1 + n % array_length(merchants, 1)], status, price_amount, price_currency, pricing_mode,
    token_id, network, decimals, contract, '0x' || left(md5('a' || n) || md5('b' || n), 40), pay_amount, rate, rate_source,
    rate_at, credited, received, overpay_bps, 'old-' || n, ipn_callback_url, payment_window_seconds, window_seconds,
    deadline_at - n * interval '1 second', created_at - n * interval '1 second', updated_at - n * interval '1 second'
from (select * from invoice order by created_at limit 1) as one, (select array_agg(id) as merchants from merchant) as all_of_them,
    generate_series(1, $1) as n;
insert into deposit_address (id, family, address, match_key, derivation_index, network, invoice_id, created_at)
select gen_random_uuid(), 'evm', pay_address, pay_address, 1000000 + row_number() over (), network, id, created_at
from invoice where order_id like 'old-%';
insert into deposit (id, network, deposit_key, tx_hash, address_id, invoice_id, token_id, contract, amount, amount_text,
    height, first_seen_at, state, booked_as, settled_at)
select gen_random_uuid(), i.network, 'old:' || i.order_id, md5(i.order_id), a.id, i.id, i.token_id, i.contract, i.pay_amount,
    i.pay_amount::text, 1, i.created_at, 'settled', 'credit', i.updated_at
from invoice i join deposit_address a on a.invoice_id = i.id where i.order_id like 'old-%';
insert into ledger_entry (kind, source, asset, debit, credit, amount, created_at)
select one.kind, d.id, one.asset, one.debit, one.credit, d.amount, d.first_seen_at
from (select * from ledger_entry order by id limit 1) as one, deposit d where d.deposit_key like 'old:%';
insert into delivery (id, event_id, channel, kind, merchant_id, invoice_id, subject, url, payload, state, attempts,
    last_status, created_at, updated_at)
select gen_random_uuid(), 'evt_' || md5('event' || i.order_id), 'ipn', one.kind, i.merchant_id, i.id, one.subject, one.url,
    one.payload, 'delivered', 1, 200, i.created_at, i.updated_at
from (select * from delivery order by created_at limit 1) as one, invoice i where i.order_id like 'old-%';
insert into timer (kind, ref, due_at)
select 'invoice_deadline', id, now() + interval '1 year' + extract(epoch from now() - created_at) * interval '1 second'
from invoice where order_id like 'old-%';
insert into delivery_attempt (delivery_id, cycle, attempt, started_at, duration_ms, status)
select id, 1, 1, created_at, 12, 200 from delivery where created_at < now() - interval '1 second' and last_status = 200
on conflict do nothing;
-- swept: half of them old
insert into idempotency (merchant_id, key, request_sha256, response, created_at)
select one.id, 'old-' || n, decode(md5(n::text) || md5(n::text), 'hex'), repeat('x', 200),
    now() - (case when n % 2 = 0 then interval '10 hours' else interval '2 days' end) + n * interval '1 millisecond'
from (select id from merchant limit 1) as one, generate_series(1, $1) as n;
-- swept: half of them old; the others stay fresh however long this takes
insert into request_window (key, slots, next_slot, last_at)
select 'buyer:' || n, array[now()] || array_fill(null::timestamptz, array[59]), 1,
    now() + (case when n % 2 = 0 then interval '1 day' else interval '-1 hour' end)
from generate_series(1, $1) as n;
