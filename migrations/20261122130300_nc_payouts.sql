-- Non-custodial payouts: what was built for a merchant to sign, the bytes that he signed, and what became of them.
--
-- The bytes are here before any node has them, they are never edited, and a sender's nonce is submitted once.

create table nc_payout (
    id uuid primary key,
    payout_id text not null constraint nc_payout_id_unique unique,
    merchant_id uuid not null references merchant (id),
    state text not null constraint nc_payout_state_known check (state in
        ('awaiting_signature', 'submitted', 'confirming', 'completed', 'partial_failed', 'failed', 'expired', 'cancelled')),
    token_id text not null,
    network text not null,
    chain_id bigint not null,
    -- As comparisons spell it.
    sender text not null,
    fee_level text not null constraint nc_payout_fee_level_known check (fee_level in ('slow', 'normal', 'fast')),
    -- Strict: kept for ever, so a key never builds a second payout.
    idempotency_key text constraint nc_payout_key_length check (char_length(idempotency_key) between 1 and 255),
    request_sha256 bytea,
    response text,
    expires_at timestamptz not null,
    -- When it is looked at next: its deadline, and once it is submitted, the next look at the chain. Null when it has ended.
    look_at timestamptz,
    created_at timestamptz not null default now(),
    submitted_at timestamptz,
    ended_at timestamptz,
    updated_at timestamptz not null default now(),
    constraint nc_payout_key_once unique (merchant_id, idempotency_key),
    constraint nc_payout_key_whole check (num_nonnulls(idempotency_key, request_sha256, response) in (0, 3)),
    constraint nc_payout_ended check ((ended_at is null) = (look_at is not null))
);
create index nc_payout_by_merchant on nc_payout (merchant_id, created_at, id);
create index nc_payout_due on nc_payout (look_at) where look_at is not null;

create function nc_payout_refuse_resurrection() returns trigger language plpgsql as $$
begin
    raise exception 'payout % is % for ever', old.payout_id, old.state
        using errcode = 'check_violation', constraint = 'nc_payout_terminal_is_terminal';
end $$;
create trigger nc_payout_terminal_is_terminal before update of state on nc_payout
    for each row when (old.state in ('completed', 'partial_failed', 'failed', 'expired', 'cancelled') and new.state <> old.state)
    execute function nc_payout_refuse_resurrection();

create table nc_payout_output (
    payout_id uuid not null references nc_payout (id),
    position integer not null,
    address text not null,
    amount numeric(39, 0) not null constraint nc_payout_output_positive check (amount > 0 and amount <> 'NaN'),
    reference text,
    primary key (payout_id, position),
    constraint nc_payout_output_reference_once unique (payout_id, reference)
);

-- The transaction of one output.
create table nc_payout_transaction (
    payout_id uuid not null references nc_payout (id),
    position integer not null,
    network text not null,
    sender text not null,
    nonce bigint not null,
    -- The bytes whose hash is signed.
    unsigned bytea not null,
    -- The signed bytes.
    raw bytea,
    tx_hash text,
    state text not null default 'unsigned' constraint nc_payout_transaction_state_known
        check (state in ('unsigned', 'signed', 'sent', 'confirmed', 'failed')),
    -- When a node was last given it.
    sent_at timestamptz,
    confirmations bigint not null default 0,
    -- What the network took, in its own coin.
    fee numeric(39, 0),
    error text,
    primary key (payout_id, position),
    constraint nc_payout_transaction_signed check ((state = 'unsigned') = (raw is null) and (raw is null) = (tx_hash is null))
);
create unique index nc_payout_nonce_once on nc_payout_transaction (network, sender, nonce) where raw is not null;

create function nc_payout_refuse_edit() returns trigger language plpgsql as $$
begin
    raise exception 'what was signed or has ended stays as it is'
        using errcode = 'check_violation', constraint = 'nc_payout_signed_is_signed';
end $$;
create trigger nc_payout_signed_is_signed before update on nc_payout_transaction
    for each row when (old.raw is not null and (new.raw, new.unsigned, new.tx_hash, new.nonce, new.sender, new.network)
                           is distinct from (old.raw, old.unsigned, old.tx_hash, old.nonce, old.sender, old.network)
                       or old.state in ('confirmed', 'failed') and new.state <> old.state)
    execute function nc_payout_refuse_edit();
