-- Mass payouts: orders, their rows and batches, what was signed for them, and the second webhook channel.
--
-- What protects against paying twice is here and not in code: a row has one payment for ever, a nonce belongs to one
-- payment, a payment's bytes are stored before they are sent, and an order can never give away more than it received.

create table payout_order (
    id uuid primary key,
    order_id text not null constraint payout_order_id_unique unique,
    merchant_id uuid not null references merchant (id),
    family text not null constraint payout_order_family_known check (family in ('utxo', 'evm')),
    state text not null constraint payout_order_state_known check (state in
        ('draft', 'pending_deposit', 'funded', 'processing', 'completed', 'partial_failed', 'expired', 'cancelled')),
    funding text not null default 'none' constraint payout_order_funding_known
        check (funding in ('none', 'detected', 'underfunded', 'exact', 'overfunded')),
    token_id text not null,
    network text not null,
    fee_mode text not null constraint payout_order_fee_mode_known check (fee_mode in ('sender', 'recipient')),
    label text constraint payout_order_label_length check (char_length(label) <= 255),
    -- The merchant's own object, byte for byte.
    metadata text constraint payout_order_metadata_length check (octet_length(metadata) <= 4096),
    refund_address text,
    callback_url text,
    item_count integer not null constraint payout_order_items check (item_count > 0),
    batch_count integer not null constraint payout_order_batches check (batch_count > 0),
    payout_total numeric(39, 0) not null,
    network_fee numeric(39, 0) not null,
    service_fee numeric(39, 0) not null,
    total_to_send numeric(39, 0) not null,
    quote_id text not null,
    quote_created_at timestamptz not null,
    quote_expires_at timestamptz not null,
    -- Wei per gas, or the smallest coin per virtual byte.
    fee_rate numeric(39, 0) not null,
    native_price_usd numeric(28, 12) not null,
    asset_price_usd numeric(28, 12) not null,
    -- What arrived in time, and what arrived when nobody waited for it any more.
    credited numeric(39, 0) not null default 0 constraint payout_order_credited check (credited >= 0 and credited <> 'NaN'),
    late numeric(39, 0) not null default 0 constraint payout_order_late check (late >= 0 and late <> 'NaN'),
    -- Where it went: fees kept, signed for but not final, paid, sent back.
    kept numeric(39, 0) not null default 0 constraint payout_order_kept check (kept >= 0 and kept <> 'NaN'),
    reserved numeric(39, 0) not null default 0 constraint payout_order_reserved check (reserved >= 0 and reserved <> 'NaN'),
    paid numeric(39, 0) not null default 0 constraint payout_order_paid check (paid >= 0 and paid <> 'NaN'),
    returned numeric(39, 0) not null default 0 constraint payout_order_returned check (returned >= 0 and returned <> 'NaN'),
    failed numeric(39, 0) not null default 0 constraint payout_order_failed check (failed >= 0 and failed <> 'NaN'),
    deposit_address text,
    derivation_index bigint,
    expires_at timestamptz not null,
    -- A draft that nobody confirmed is forgotten then.
    abandoned_at timestamptz not null,
    cancelled_by text constraint payout_order_cancelled_by_known check (cancelled_by in ('merchant', 'operator')),
    -- Set while nothing may be signed for it; the reason is for people.
    held_at timestamptz,
    hold_reason text,
    -- A worker is busy with it until then. Only saves work; what protects are the constraints.
    leased_until timestamptz,
    created_at timestamptz not null default now(),
    confirmed_at timestamptz,
    funded_at timestamptz,
    finished_at timestamptz,
    updated_at timestamptz not null default now(),
    constraint payout_order_balance check (kept + reserved + paid + returned <= credited + late),
    constraint payout_order_address check ((deposit_address is null) = (derivation_index is null)),
    constraint payout_order_held check ((held_at is null) = (hold_reason is null))
);
create index payout_order_by_merchant on payout_order (merchant_id, family, created_at, id);

create function payout_refuse_resurrection() returns trigger language plpgsql as $$
begin
    raise exception 'payout order % is % for ever', old.order_id, old.state
        using errcode = 'check_violation', constraint = 'payout_order_terminal_is_terminal';
end $$;
create trigger payout_order_terminal_is_terminal before update of state on payout_order
    for each row when (old.state in ('completed', 'partial_failed', 'expired', 'cancelled') and new.state <> old.state)
    execute function payout_refuse_resurrection();

create table payout_batch (
    id uuid primary key,
    batch_id text not null constraint payout_batch_id_unique unique,
    order_id uuid not null references payout_order (id),
    index integer not null,
    state text not null constraint payout_batch_state_known check (state in ('pending', 'signing', 'broadcasted', 'confirmed', 'failed')),
    last_error text,
    broadcast_at timestamptz,
    confirmed_at timestamptz,
    constraint payout_batch_once unique (order_id, index)
);

-- One transaction on a chain, in one or more versions of which at most one can ever confirm.
create table payout_payment (
    id uuid primary key,
    order_id uuid not null references payout_order (id),
    purpose text not null constraint payout_payment_purpose_known check (purpose in ('pay', 'refund', 'gas')),
    network text not null,
    sender text not null,
    nonce bigint not null,
    state text not null constraint payout_payment_state_known check (state in ('signed', 'sent', 'confirmed', 'failed')),
    -- In the order's asset; the coin itself for gas.
    amount numeric(39, 0) not null,
    -- Of one whole unit of the asset times the amount: what limits are measured in.
    value_usd numeric(28, 6) not null,
    -- What its confirmed version took, in the network's coin.
    fee numeric(39, 0),
    tx_hash text not null,
    height bigint,
    -- When a node last took it.
    sent_at timestamptz,
    created_at timestamptz not null default clock_timestamp(),
    ended_at timestamptz,
    constraint payout_payment_nonce_once unique (network, sender, nonce)
);
create index payout_payment_by_order on payout_payment (order_id, created_at, id);
create index payout_payment_by_age on payout_payment (created_at);
-- One refund at a time.
create unique index payout_refund_once on payout_payment (order_id) where purpose = 'refund' and state in ('signed', 'sent');

create table payout_version (
    payment_id uuid not null references payout_payment (id),
    version smallint not null,
    raw bytea not null,
    tx_hash text not null,
    fee_rate numeric(39, 0) not null,
    created_at timestamptz not null default clock_timestamp(),
    primary key (payment_id, version),
    constraint payout_version_hash_unique unique (tx_hash)
);

create function payout_refuse_edit() returns trigger language plpgsql as $$
begin
    raise exception 'what was signed stays as it is' using errcode = 'check_violation', constraint = 'payout_signed_is_signed';
end $$;
create trigger payout_signed_is_signed before update or delete on payout_version
    for each row execute function payout_refuse_edit();

create table payout_item (
    id uuid primary key,
    item_id text not null constraint payout_item_id_unique unique,
    order_id uuid not null references payout_order (id),
    batch_id uuid not null references payout_batch (id),
    row_number integer not null,
    address text not null,
    amount numeric(39, 0) not null constraint payout_item_amount_positive check (amount > 0 and amount <> 'NaN'),
    net_amount numeric(39, 0) not null constraint payout_item_net_positive check (net_amount > 0 and net_amount <= amount),
    reference text,
    memo text,
    state text not null default 'pending' constraint payout_item_state_known check (state in ('pending', 'sent', 'confirmed', 'failed')),
    payment_id uuid references payout_payment (id),
    error text,
    constraint payout_item_row_once unique (order_id, row_number),
    constraint payout_item_reference_once unique (order_id, reference)
);
create index payout_item_by_batch on payout_item (batch_id, row_number);
create index payout_item_by_payment on payout_item (payment_id) where payment_id is not null;

-- A row is paid by one payment or by none, and an ended row stays as it ended.
create function payout_refuse_second_payment() returns trigger language plpgsql as $$
begin
    raise exception 'payout row % has its payment', old.item_id
        using errcode = 'check_violation', constraint = 'payout_item_paid_once';
end $$;
create trigger payout_item_paid_once before update on payout_item
    for each row when (old.payment_id is not null and new.payment_id is distinct from old.payment_id
                       or old.state in ('confirmed', 'failed') and new.state <> old.state)
    execute function payout_refuse_second_payment();

-- Strict: kept for ever, so a key never pays twice.
create table payout_idempotency (
    merchant_id uuid not null references merchant (id),
    family text not null,
    key text not null constraint payout_idempotency_key_length check (char_length(key) between 1 and 255),
    request_sha256 bytea not null,
    order_id uuid not null references payout_order (id),
    response text not null,
    created_at timestamptz not null default now(),
    primary key (merchant_id, family, key)
);

-- Who let a held order go. Two different people are needed above the limit.
create table payout_release (
    order_id uuid not null references payout_order (id),
    released_by text not null,
    created_at timestamptz not null default now(),
    primary key (order_id, released_by)
);

-- The stop switch: a row stops all signing on its network, the row '*' everywhere.
create table payout_stop (
    network text primary key,
    reason text not null,
    stopped_at timestamptz not null default now()
);

alter table deposit_address add column payout_order_id uuid references payout_order (id);
create index deposit_address_by_payout on deposit_address (payout_order_id) where payout_order_id is not null;
alter table deposit_address add constraint deposit_address_one_owner check (num_nonnulls(invoice_id, payout_order_id) <= 1);

alter table deposit add column payout_order_id uuid references payout_order (id);
create index deposit_by_payout on deposit (payout_order_id, first_seen_at, id) where payout_order_id is not null;

alter table timer drop constraint timer_kind_known;
alter table timer add constraint timer_kind_known check (kind in ('invoice_deadline', 'payout'));

alter table delivery drop constraint delivery_channel_known;
alter table delivery add constraint delivery_channel_known check (channel in ('ipn', 'payout'));
alter table delivery add column payout_order_id uuid references payout_order (id);
alter table delivery add constraint delivery_payout_once unique (payout_order_id, kind, subject);
-- The events of one order go out one after the other.
create index delivery_by_payout on delivery (payout_order_id, id) where payout_order_id is not null;

-- The simulated chains know what spends: a nonce of a sender is used once, as on a real chain.
create table sim_spend (
    network text not null,
    sender text not null,
    nonce bigint not null,
    txid text not null,
    primary key (network, sender, nonce)
);
create index sim_spend_by_txid on sim_spend (network, txid);
