-- x402: programs pay for resources of merchants over HTTP by a signature (EIP-3009), and the role x402-settlement carries it out.
--
-- What protects against settling twice is here and not in code: one settlement for each authorization, one transaction of ours for each
-- settlement, and its bytes are stored before they are sent. A settlement books no income: the deposit that it causes does, as any other.

-- What a merchant sells to programs. Its address is its own, so that whatever arrives there is a payment for it.
create table x402_resource (
    id uuid primary key,
    -- The public id, pzx_ and 130 random bits.
    resource_id text not null constraint x402_resource_id_unique unique,
    merchant_id uuid not null references merchant (id),
    address_id uuid not null constraint x402_resource_address_once unique references deposit_address (id),
    url text not null,
    description text not null,
    mime_type text not null,
    -- In USD.
    price numeric(33, 18) not null constraint x402_resource_price_positive check (price > 0 and price <> 'NaN'),
    networks text[] not null constraint x402_resource_networks check (cardinality(networks) > 0),
    timeout_seconds integer not null constraint x402_resource_timeout check (timeout_seconds between 10 and 600),
    -- Shown in the public catalogue.
    listed boolean not null,
    created_at timestamptz not null default now(),
    -- Set instead of deleting the row: what arrives later is the merchant's all the same.
    deleted_at timestamptz
);
create index x402_resource_by_merchant on x402_resource (merchant_id, created_at, id) where deleted_at is null;
create index x402_resource_listed on x402_resource (created_at desc, id desc) where listed and deleted_at is null;

-- The name and the version that a token tells of itself on chain: wallets sign them.
create table x402_domain (
    network text not null,
    contract text not null,
    name text not null,
    version text not null,
    read_at timestamptz not null default now(),
    primary key (network, contract)
);

create table x402_settlement (
    id uuid primary key,
    merchant_id uuid not null references merchant (id),
    -- Of payTo: a resource's or an invoice's.
    address_id uuid not null references deposit_address (id),
    network text not null,
    -- The token's contract, the payer and his nonce, in lower case: one settlement for each authorization.
    asset text not null,
    payer text not null,
    nonce bytea not null constraint x402_settlement_nonce_length check (octet_length(nonce) = 32),
    amount numeric(39, 0) not null constraint x402_settlement_amount_positive check (amount > 0 and amount <> 'NaN'),
    -- SHA-256 of the call, so that a repeat with another signature or other fields is not taken for the same.
    call_sha256 bytea not null,
    -- The token's call with the payer's signature; nothing else is ever signed for this row.
    call bytea not null,
    -- Unix seconds, at most 2^62.
    valid_before bigint not null,
    state text not null default 'verified' constraint x402_settlement_state_known
        check (state in ('verified', 'submitted', 'settled', 'failed')),
    -- Why it failed: the protocol's word, and a sentence.
    reason text,
    message text,
    -- Our transaction: the gas wallet and its nonce.
    sender text,
    tx_nonce bigint,
    tx_hash text,
    -- When a request of its merchant first got its success, and that request's Idempotency-Key: a seller delivers for that answer, and
    -- every other request is a replay, which its answer says.
    told_at timestamptz,
    told_key text constraint x402_settlement_told_key_length check (char_length(told_key) between 1 and 255),
    -- The block in which it was seen last.
    height bigint,
    -- The hash that was answered first, which every repeat gets, whatever a reorg does later.
    answered_hash text,
    -- The most that its gas may cost in USD, which limits are measured in.
    gas_usd numeric(28, 6),
    -- Taken by the network, in its coin.
    fee numeric(39, 0),
    created_at timestamptz not null default clock_timestamp(),
    signed_at timestamptz,
    -- When a node last took it.
    sent_at timestamptz,
    ended_at timestamptz,
    constraint x402_settlement_once unique (network, asset, payer, nonce),
    constraint x402_settlement_tx_once unique (network, sender, tx_nonce),
    constraint x402_settlement_signed check (num_nonnulls(sender, tx_nonce, tx_hash, gas_usd, signed_at) in (0, 5)),
    constraint x402_settlement_submitted check (state in ('verified', 'failed') or sender is not null),
    constraint x402_settlement_told check (told_key is null or told_at is not null),
    constraint x402_settlement_reason check ((state = 'failed') = (reason is not null)),
    constraint x402_settlement_ended check ((state in ('settled', 'failed')) = (ended_at is not null))
);
create index x402_settlement_open on x402_settlement (network, created_at, id) where state in ('verified', 'submitted');
create index x402_settlement_by_address on x402_settlement (address_id, created_at, id);
create index x402_settlement_by_signing on x402_settlement (signed_at) where signed_at is not null;

create function x402_refuse_resurrection() returns trigger language plpgsql as $$
begin
    raise exception 'settlement % is % for ever', old.id, old.state
        using errcode = 'check_violation', constraint = 'x402_settlement_ended_is_ended';
end $$;
create trigger x402_settlement_ended_is_ended before update of state on x402_settlement
    for each row when (old.state in ('settled', 'failed') and new.state <> old.state)
    execute function x402_refuse_resurrection();

-- What is carried out, and who pays for it, never changes.
create function x402_refuse_edit() returns trigger language plpgsql as $$
begin
    raise exception 'what a payer signed stays as it is'
        using errcode = 'check_violation', constraint = 'x402_settlement_signed_is_signed';
end $$;
create trigger x402_settlement_signed_is_signed before update on x402_settlement
    for each row when (new.call <> old.call or new.amount <> old.amount or new.address_id <> old.address_id
                       or old.tx_nonce is not null and (new.tx_nonce, new.sender) is distinct from (old.tx_nonce, old.sender)
                       or old.answered_hash is not null and new.answered_hash is distinct from old.answered_hash)
    execute function x402_refuse_edit();

-- Signed versions of a settlement's transaction, of which at most one can ever confirm.
create table x402_version (
    settlement_id uuid not null references x402_settlement (id),
    version smallint not null,
    raw bytea not null,
    tx_hash text not null constraint x402_version_hash_unique unique,
    fee_rate numeric(39, 0) not null,
    tip numeric(39, 0) not null,
    created_at timestamptz not null default clock_timestamp(),
    primary key (settlement_id, version)
);
create trigger x402_version_signed_is_signed before update or delete on x402_version
    for each row execute function payout_refuse_edit();

insert into role_grant (role, what)
values
    ('gateway_api', 'insert, update (listed, deleted_at) on x402_resource'),
    ('gateway_api', 'insert, update on x402_domain'),
    -- Neither states nor nonces of the wallet, with which a stolen password could keep it from signing.
    ('gateway_api', 'insert (id, merchant_id, address_id, network, asset, payer, nonce, amount, call, call_sha256, valid_before) '
        'on x402_settlement'),
    ('gateway_api', 'update (told_at, told_key) on x402_settlement'),
    -- The payer signs and follows; it cannot make a settlement that nobody verified.
    ('gateway_payer', 'insert, update on x402_domain'),
    ('gateway_payer', 'update (state, reason, message, sender, tx_nonce, tx_hash, height, answered_hash, gas_usd, fee, signed_at, '
        'sent_at, ended_at) on x402_settlement'),
    ('gateway_payer', 'insert on x402_version');

select grant_roles();
