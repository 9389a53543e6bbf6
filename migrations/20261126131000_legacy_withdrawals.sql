-- The rest of the /legacy adapter: withdrawals, addresses without an invoice, and rising nonces.

-- A key orders withdrawals only if it was given for that: most shops take payments alone. Of requests that bring a nonce each needs a higher one than all before,
-- so a recorded one cannot be sent again.
alter table legacy_key add column may_withdraw boolean not null default false;
alter table legacy_key add column last_nonce bigint not null default 0 constraint legacy_key_nonce_range check (last_nonce >= 0);
drop trigger legacy_key_audited on legacy_key;
create trigger legacy_key_audited after insert or update or delete on legacy_key for each row
    when (audited_operator() is not null) execute function audit_row('merchant_id', 'public_key', 'may_withdraw');

-- A payout order of one recipient that the adapter created. Its webhooks are written in the adapter's dialect.
create table legacy_withdrawal (
    payout_order_id uuid primary key references payout_order (id),
    merchant_id uuid not null references merchant (id),
    -- The id that the shop knows: 26 letters and digits, 130 random bits.
    withdrawal_id text not null constraint legacy_withdrawal_id_unique unique,
    created_at timestamptz not null default now()
);
create index legacy_withdrawal_by_created on legacy_withdrawal (merchant_id, created_at, payout_order_id);

-- A deposit address of a merchant that belongs to no invoice: what comes in is credited, for ever.
create table legacy_address (
    address_id uuid primary key references deposit_address (id),
    merchant_id uuid not null references merchant (id),
    -- The one currency that is credited; any other is kept apart as foreign.
    token_id text not null,
    -- 'callback': one for each request, told by IPNs. 'standing': one per merchant and currency, told by the feed alone.
    purpose text not null constraint legacy_address_purpose_known check (purpose in ('callback', 'standing')),
    ipn_url text,
    label text,
    created_at timestamptz not null default now()
);
create unique index legacy_address_standing on legacy_address (merchant_id, token_id) where purpose = 'standing';
create index legacy_address_by_merchant on legacy_address (merchant_id, created_at);

-- Its deposits by time, for the figures and the warnings of the dashboard, as those of invoices have theirs. Bookings wait while these
-- are built, some seconds for ten million deposits; no deposit stands in them yet.
create index deposit_own_by_time on deposit (booked_as, settled_at) where invoice_id is null and payout_order_id is null;
create index deposit_own_reversed on deposit (settled_at)
    where state = 'reversed' and invoice_id is null and payout_order_id is null;
-- Such an address lives for ever: what waits at it is found without reading all that ever came.
create index deposit_own_final on deposit (address_id, first_seen_at, id)
    where state = 'final' and invoice_id is null and payout_order_id is null;
create index deposit_own_unsettled on deposit (address_id)
    where state in ('seen', 'final') and invoice_id is null and payout_order_id is null;

insert into role_grant (role, what)
values
    ('gateway_api', 'update (last_nonce) on legacy_key'),
    ('gateway_api', 'insert on legacy_withdrawal, legacy_address');

select grant_roles();
