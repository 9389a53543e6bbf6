-- People ask about a deposit by its transaction.
create index deposit_by_transaction on deposit (network, tx_hash);

-- Balances on chain that are not what the rows say. A row goes when they agree again, unless a person has explained it.
create table balance_difference (
    network text not null,
    address_id uuid not null references deposit_address (id),
    token_id text not null,
    -- In base units: what the rows say, and what the chain said at that height.
    expected numeric(39, 0) not null constraint balance_difference_expected check (expected >= 0 and expected <> 'NaN'),
    found numeric(39, 0) not null constraint balance_difference_found check (found >= 0 and found <> 'NaN'),
    height bigint not null,
    -- At how many heights it was found; once may be a payment on its way into the rows.
    times integer not null default 1,
    -- What a person has accounted for, such as coins that the wallet's owner moved away.
    explained numeric(39, 0) not null default 0 constraint balance_difference_explained check (explained <> 'NaN'),
    first_seen_at timestamptz not null default now(),
    seen_at timestamptz not null default now(),
    primary key (network, address_id, token_id)
);

-- How far the walk through the addresses of each network came, by part.
create table balance_walk (
    network text not null,
    part text not null constraint balance_walk_part_known check (part in ('open', 'all')),
    after_at timestamptz not null,
    after_id uuid not null,
    primary key (network, part)
);
