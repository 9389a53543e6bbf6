-- Sweeps: what invoices received is collected at the treasury's addresses, by transactions that are planned here and signed where the
-- cold seed is (docs/collecting.md).
--
-- What protects against collecting twice is here and not in code: a coin, or a nonce of an address, is in one plan at a time, and the
-- bytes of a transaction are stored once and before they are sent.

-- A plan, as its file has it.
create table sweep (
    id uuid primary key,
    -- The public id, swp_ and 130 random bits.
    plan_id text not null constraint sweep_plan_id_unique unique,
    -- The file, byte for byte: what comes back signed is compared with it.
    plan text not null,
    created_at timestamptz not null default clock_timestamp(),
    signed_at timestamptz,
    -- An operator gave it up before anything was signed here: its coins are free again.
    dropped_at timestamptz,
    constraint sweep_signed_or_dropped check (signed_at is null or dropped_at is null)
);

create table sweep_transaction (
    id uuid primary key,
    sweep_id uuid not null references sweep (id),
    -- Its place in the plan, from 0.
    position integer not null constraint sweep_position_sound check (position >= 0),
    network text not null,
    token_id text not null,
    -- Where the account sends it and its nonce; null where transactions have inputs.
    sender text,
    nonce bigint,
    -- The sender is the wallet that pays for gas, and not the address that has the token.
    relayed boolean not null default false,
    -- The treasury's address, and what arrives there.
    recipient text not null,
    amount numeric(39, 0) not null constraint sweep_amount_positive check (amount > 0 and amount <> 'NaN'),
    -- The most that the network takes.
    fee_max numeric(39, 0) not null constraint sweep_fee_max_sound check (fee_max >= 0 and fee_max <> 'NaN'),
    state text not null default 'planned' constraint sweep_transaction_state_known
        check (state in ('planned', 'signed', 'sent', 'confirmed', 'failed', 'dropped')),
    raw bytea,
    tx_hash text,
    -- When a node last took it.
    sent_at timestamptz,
    height bigint,
    -- Taken by the network, in its coin.
    fee numeric(39, 0),
    -- Why it failed.
    error text,
    ended_at timestamptz,
    -- The blocks in which it was looked for, where nodes have no index (src/chain/pay/utxo/search.rs).
    search_height bigint not null,
    search_hash text,
    search_found text,
    search_missing_since bigint,
    constraint sweep_transaction_place unique (sweep_id, position),
    constraint sweep_transaction_account check ((sender is null) = (nonce is null) and (sender is not null or not relayed)),
    constraint sweep_transaction_signed check ((raw is null) = (tx_hash is null)
        and (state in ('planned', 'dropped')) = (raw is null)),
    constraint sweep_transaction_ended check ((state in ('confirmed', 'failed', 'dropped')) = (ended_at is not null)),
    constraint sweep_transaction_final check (state <> 'confirmed' or height is not null and fee is not null)
);
create unique index sweep_transaction_hash_once on sweep_transaction (network, tx_hash) where tx_hash is not null;
create unique index sweep_transaction_nonce_once on sweep_transaction (network, sender, nonce)
    where sender is not null and state <> 'dropped';
create index sweep_transaction_open on sweep_transaction (network, sweep_id, position) where state in ('signed', 'sent');

-- What a transaction takes from which address: an output, named txid:n, or an amount of an account, named address/nonce.
create table sweep_coin (
    transaction_id uuid not null references sweep_transaction (id),
    network text not null,
    coin text not null,
    address_id uuid not null references deposit_address (id),
    token_id text not null,
    amount numeric(39, 0) not null constraint sweep_coin_amount_positive check (amount > 0 and amount <> 'NaN'),
    -- Its transaction was dropped, or can never be mined, or was an authorization, which has no nonce of the address: another plan may
    -- have what goes by this name.
    released boolean not null default false,
    primary key (transaction_id, coin)
);
create unique index sweep_coin_once on sweep_coin (network, coin) where not released;
create index sweep_coin_by_address on sweep_coin (address_id, network);

create function sweep_refuse_change() returns trigger language plpgsql as $$
begin
    raise exception 'a sweep stays as it was planned, signed and ended'
        using errcode = 'check_violation', constraint = 'sweep_is_kept';
end $$;
create trigger sweep_is_kept before update on sweep for each row
    when (new.plan_id <> old.plan_id or new.plan <> old.plan
          or old.signed_at is not null and new.signed_at is distinct from old.signed_at
          or old.dropped_at is not null and new.dropped_at is distinct from old.dropped_at)
    execute function sweep_refuse_change();
create trigger sweep_transaction_is_kept before update on sweep_transaction for each row
    when (new.sweep_id <> old.sweep_id or new.position <> old.position or new.network <> old.network
          or new.token_id <> old.token_id or new.recipient <> old.recipient or new.amount <> old.amount
          or new.fee_max <> old.fee_max or new.relayed <> old.relayed
          or (new.sender, new.nonce) is distinct from (old.sender, old.nonce)
          or old.raw is not null and (new.raw, new.tx_hash) is distinct from (old.raw, old.tx_hash)
          or old.ended_at is not null and new.state <> old.state)
    execute function sweep_refuse_change();
create trigger sweep_is_never_deleted before delete on sweep for each row execute function sweep_refuse_change();
create trigger sweep_transaction_is_never_deleted before delete on sweep_transaction for each row
    execute function sweep_refuse_change();
create trigger sweep_coin_is_kept before update on sweep_coin for each row
    when (old.released or new.transaction_id <> old.transaction_id or new.network <> old.network or new.coin <> old.coin
          or new.address_id <> old.address_id or new.token_id <> old.token_id or new.amount <> old.amount)
    execute function sweep_refuse_change();
create trigger sweep_coin_is_never_deleted before delete on sweep_coin for each row execute function sweep_refuse_change();

create trigger sweep_audited after insert or update on sweep for each row
    when (audited_operator() is not null) execute function audit_row('plan_id', 'plan_id', 'signed_at', 'dropped_at');

-- Operators plan and send; no program that faces the internet can.
insert into role_grant (role, what)
values
    ('gateway_dashboard', 'insert, update (signed_at, dropped_at) on sweep'),
    ('gateway_dashboard', 'insert, update (state, raw, tx_hash, sent_at, height, fee, error, ended_at, search_height, search_hash, '
        'search_found, search_missing_since) on sweep_transaction'),
    ('gateway_dashboard', 'insert, update (released) on sweep_coin');

select grant_roles();
