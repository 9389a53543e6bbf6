-- The foundation: merchants, invoices, deposits, the ledger, deliveries, the outbox.
--
-- Conventions: ids are uuid v7 made by the program before the insert, so a retry after an unknown commit finds its own
-- row. On-chain amounts are numeric(39,0) base units. Constraints are named because code matches on them. Bodies that
-- must be byte-equal later are text, never jsonb.

create table merchant (
    id uuid primary key,
    name text not null constraint merchant_name_length check (char_length(name) between 1 and 200),
    -- SHA-256 of the key; the key itself is never stored.
    api_key_sha256 bytea not null constraint merchant_api_key_unique unique,
    api_key_preview text not null,
    -- Sealed under the master key with this row's id as associated data.
    webhook_secret_sealed bytea not null,
    overpay_bps integer not null constraint merchant_overpay_range check (overpay_bps between 0 and 100000),
    payment_window_seconds integer not null constraint merchant_payment_window check (payment_window_seconds > 0),
    selection_window_seconds integer not null constraint merchant_selection_window check (selection_window_seconds > 0),
    open_invoices_max integer not null constraint merchant_open_invoices check (open_invoices_max > 0),
    -- code@network of the tokens a draft may be paid in; null accepts every enabled one.
    accepted_tokens text[],
    payout_webhook_url text,
    suspended_at timestamptz,
    -- Endpoints that answer slowly are served by the slow lane until then.
    slow_until timestamptz,
    slow_results integer not null default 0,
    slow_results_since timestamptz,
    created_at timestamptz not null default now()
);

-- What an operator changed of the catalogue.
create table currency_setting (
    token_id text primary key,
    enabled boolean,
    min_usd numeric(18, 6) constraint currency_setting_min_usd check (min_usd >= 0 and min_usd <> 'NaN'),
    updated_at timestamptz not null default now()
);

-- The last accepted price of one coin in one fiat currency.
create table rate (
    symbol text not null,
    fiat text not null,
    price numeric(28, 12) not null constraint rate_positive check (price > 0 and price <> 'NaN' and price < 'Infinity'),
    source text not null,
    observed_at timestamptz not null,
    primary key (symbol, fiat)
);

-- The last 60 accepted requests of one caller, as a ring. It may start empty after a crash of the database: then a
-- caller can make up to 60 requests more in that minute, and nothing else is lost.
create unlogged table request_window (
    key text primary key,
    slots timestamptz[] not null,
    next_slot integer not null,
    last_at timestamptz not null
) with (fillfactor = 50);

-- One sequence per address family. Indices are taken outside of any rollback, so gaps are normal and a second use is
-- impossible.
create sequence address_index_bitcoin as bigint minvalue 0;
create sequence address_index_litecoin as bigint minvalue 0;
create sequence address_index_dogecoin as bigint minvalue 0;
create sequence address_index_evm as bigint minvalue 0;
create sequence address_index_tron as bigint minvalue 0;
create sequence address_index_ton as bigint minvalue 0;
create sequence address_index_thorchain as bigint minvalue 0;

-- Addresses that public material alone cannot derive (Solana, NEAR), made beforehand.
create table address_pool (
    family text not null,
    derivation_index bigint not null,
    address text not null,
    taken_at timestamptz,
    primary key (family, derivation_index),
    constraint address_pool_unique unique (family, address)
);
create index address_pool_free on address_pool (family, derivation_index) where taken_at is null;

create table invoice (
    id uuid primary key,
    payment_id text not null constraint invoice_payment_id_unique unique,
    merchant_id uuid not null references merchant (id),
    status text not null constraint invoice_status_known
        check (status in ('draft', 'pending', 'partial', 'paid', 'overpaid', 'expired', 'cancelled')),
    price_amount numeric(33, 18) not null constraint invoice_price_positive check (price_amount > 0 and price_amount <> 'NaN'),
    price_currency text not null,
    pricing_mode text not null constraint invoice_pricing_mode_known check (pricing_mode in ('fiat', 'direct')),
    -- All null while a draft, all set from then on.
    token_id text,
    network text,
    decimals smallint,
    contract text,
    pay_address text,
    pay_amount numeric(39, 0) constraint invoice_pay_amount_positive check (pay_amount > 0 and pay_amount <> 'NaN'),
    rate numeric(28, 12),
    rate_source text,
    rate_at timestamptz,
    -- Own-token deposits that were in time (credited), and all of them (received).
    credited numeric(39, 0) not null default 0 constraint invoice_credited_range check (credited >= 0 and credited <> 'NaN'),
    received numeric(39, 0) not null default 0 constraint invoice_received_range check (received >= credited and received <> 'NaN'),
    overpay_bps integer not null,
    order_id text constraint invoice_order_id_length check (char_length(order_id) <= 255),
    order_description text constraint invoice_order_description_length check (char_length(order_description) <= 2000),
    ipn_callback_url text,
    success_url text,
    cancel_url text,
    ipn_dialect text not null default 'default',
    invoice_type text not null default 'payment' constraint invoice_type_known
        check (invoice_type in ('payment', 'donation', 'subscription', 'pos')),
    link_id uuid,
    subscriber_email text,
    subscription_cycle integer,
    next_renewal_at timestamptz,
    -- code@network snapshot of what a draft may be paid in.
    accepted_tokens text[],
    payment_window_seconds integer not null,
    window_seconds integer not null,
    deadline_at timestamptz not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint invoice_resolved_or_draft check (
        (status in ('draft', 'expired', 'cancelled') and num_nonnulls(token_id, network, decimals, pay_address, pay_amount) = 0)
        or num_nonnulls(token_id, network, decimals, pay_address, pay_amount) = 5
    )
);
-- Reading by order_id: the newest match wins.
create index invoice_by_order on invoice (merchant_id, order_id, created_at desc) where order_id is not null;
-- The two sort orders of the list; unresolved drafts never appear in it.
create index invoice_by_created on invoice (merchant_id, created_at, id) where token_id is not null;
create index invoice_by_updated on invoice (merchant_id, updated_at, id) where token_id is not null;
-- The open-invoice quota.
create index invoice_open on invoice (merchant_id) where status in ('draft', 'pending', 'partial');

-- Terminal is terminal, whoever writes (spec, Rules 2).
create function invoice_refuse_resurrection() returns trigger language plpgsql as $$
begin
    raise exception 'invoice % is % for ever', old.payment_id, old.status
        using errcode = 'check_violation', constraint = 'invoice_terminal_is_terminal';
end $$;
create trigger invoice_terminal_is_terminal before update of status on invoice
    for each row when (old.status in ('paid', 'overpaid', 'expired', 'cancelled') and new.status <> old.status)
    execute function invoice_refuse_resurrection();

-- Answers to repeated requests, byte for byte, for 24 hours.
create table idempotency (
    merchant_id uuid not null references merchant (id),
    key text not null constraint idempotency_key_length check (char_length(key) between 1 and 255),
    request_sha256 bytea not null,
    response text not null,
    created_at timestamptz not null default now(),
    primary key (merchant_id, key)
);
create index idempotency_by_age on idempotency (created_at);

-- Addresses we watch. Invoices are the only owners so far; payout orders will be owners too, so the owner is a column
-- of its own kind.
create table deposit_address (
    id uuid primary key,
    family text not null,
    address text not null,
    -- The spelling by which transfers are compared.
    match_key text not null,
    derivation_index bigint not null,
    network text not null,
    invoice_id uuid references invoice (id),
    created_at timestamptz not null default clock_timestamp(),
    constraint deposit_address_unique unique (family, match_key),
    constraint deposit_address_index_unique unique (family, derivation_index)
);
-- The watchers load what is newer than their last load.
create index deposit_address_by_age on deposit_address (family, created_at, id);
create index deposit_address_by_invoice on deposit_address (invoice_id);

create table deposit (
    id uuid primary key,
    network text not null,
    -- Names the movement on its network for ever; crediting twice is impossible.
    deposit_key text not null,
    tx_hash text not null,
    address_id uuid not null references deposit_address (id),
    invoice_id uuid references invoice (id),
    token_id text,
    contract text,
    -- Null when the amount does not fit 128 bits; the text then keeps it for people.
    amount numeric(39, 0) constraint deposit_amount_positive check (amount > 0 and amount <> 'NaN'),
    amount_text text not null,
    height bigint,
    block_hash text,
    mined_at timestamptz,
    first_seen_at timestamptz not null,
    state text not null constraint deposit_state_known check (state in ('seen', 'final', 'settled', 'withdrawn', 'reversed')),
    booked_as text constraint deposit_booked_as_known check (booked_as in ('credit', 'late', 'foreign', 'suspicious', 'nothing')),
    -- Set while a settled deposit is missing from the canonical chain: the height it was lost at.
    orphaned_height bigint,
    settled_at timestamptz,
    updated_at timestamptz not null default clock_timestamp(),
    constraint deposit_unique unique (network, deposit_key),
    constraint deposit_settled_is_booked check ((state in ('settled', 'reversed')) = (booked_as is not null))
);
create index deposit_by_invoice on deposit (invoice_id, first_seen_at, id);
create index deposit_by_address on deposit (address_id);
create index deposit_unsettled on deposit (network, height) where state in ('seen', 'final');
create index deposit_orphaned on deposit (network, orphaned_height) where orphaned_height is not null;

create table chain_cursor (
    network text primary key,
    height bigint not null,
    hash text not null,
    -- Database time of the start of the last complete look at the head, mempool included.
    watched_through timestamptz,
    updated_at timestamptz not null default now()
);

-- The last blocks of each network, to find the common ancestor after a reorganisation.
create table chain_block (
    network text not null,
    height bigint not null,
    hash text not null,
    primary key (network, height)
);

-- Moves an amount from one account to another. Books balance because nothing else can be written.
create table ledger_entry (
    id bigint generated always as identity primary key,
    kind text not null,
    source uuid not null,
    asset text not null,
    debit text not null,
    credit text not null,
    amount numeric(39, 0) not null constraint ledger_amount_positive check (amount > 0 and amount <> 'NaN'),
    created_at timestamptz not null default now(),
    constraint ledger_entry_unique unique (kind, source),
    constraint ledger_accounts_differ check (debit <> credit)
);
create index ledger_entry_by_source on ledger_entry (source);

-- Entries are never edited; a mistake is corrected by another entry.
create function ledger_refuse_edit() returns trigger language plpgsql as $$
begin
    raise exception 'ledger entries are append-only' using errcode = 'check_violation', constraint = 'ledger_append_only';
end $$;
create trigger ledger_append_only before update or delete on ledger_entry
    for each row execute function ledger_refuse_edit();

-- What is due when. The database is the clock; a broker's delay would only be a hint.
create table timer (
    kind text not null constraint timer_kind_known check (kind in ('invoice_deadline')),
    ref uuid not null,
    due_at timestamptz not null,
    primary key (kind, ref)
);
create index timer_due on timer (due_at);

-- Messages to publish. Insert and delete only.
create table outbox (
    id bigint generated always as identity primary key,
    route text not null,
    body text not null,
    created_at timestamptz not null default now()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Messages that no queue takes. An operator looks; the sweeper re-creates the work from rows.
create table outbox_quarantine (
    id bigint primary key,
    route text not null,
    body text not null,
    reason text not null,
    created_at timestamptz not null,
    quarantined_at timestamptz not null default now()
);

-- One event for one receiver.
create table delivery (
    id uuid primary key,
    event_id text not null constraint delivery_event_id_unique unique,
    channel text not null constraint delivery_channel_known check (channel in ('ipn')),
    kind text not null,
    merchant_id uuid not null references merchant (id),
    invoice_id uuid references invoice (id),
    -- The deposit behind an informational event; the nil uuid otherwise. Makes one event per transition and deposit.
    subject uuid not null,
    url text not null,
    -- The body without event_id and event_at, fixed when the event happened.
    payload text not null,
    state text not null constraint delivery_state_known check (state in ('pending', 'retry_wait', 'delivered', 'dropped', 'dead')),
    cycle integer not null default 1,
    attempts smallint not null default 0,
    next_attempt_at timestamptz,
    last_status smallint,
    last_error text,
    dead_since timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint delivery_once unique (invoice_id, kind, subject),
    constraint delivery_next_attempt check ((state in ('pending', 'retry_wait')) = (next_attempt_at is not null)),
    constraint delivery_dead_since check ((state = 'dead') = (dead_since is not null))
);
create index delivery_due on delivery (next_attempt_at) where state in ('pending', 'retry_wait');
create index delivery_dead on delivery (dead_since) where state = 'dead';
create index delivery_by_merchant on delivery (merchant_id, created_at);

create table delivery_attempt (
    delivery_id uuid not null references delivery (id),
    cycle integer not null,
    attempt smallint not null,
    started_at timestamptz not null,
    duration_ms integer not null,
    status smallint,
    error text,
    -- The first bytes of the answer, for people.
    excerpt text,
    primary key (delivery_id, cycle, attempt)
);

-- What a person must look at.
create table operator_alert (
    id uuid primary key,
    kind text not null,
    subject text not null,
    detail text not null,
    created_at timestamptz not null default now(),
    constraint operator_alert_once unique (kind, subject)
);
