-- The sandbox's simulated chain: a small chain of blocks per network, written by `gatewayctl simulate` and read by the
-- ordinary chain-watcher. Production never touches these tables.

create table sim_block (
    network text not null,
    height bigint not null,
    hash text not null constraint sim_block_hash_unique unique,
    parent_hash text not null,
    mined_at timestamptz not null,
    primary key (network, height)
);

create table sim_transfer (
    network text not null,
    txid text not null,
    output integer not null,
    address text not null,
    -- Null for the chain's own coin.
    contract text,
    -- Unbounded on purpose: hostile amounts can be simulated too.
    amount numeric not null constraint sim_transfer_amount check (amount >= 0 and amount <> 'NaN'),
    -- Null while it waits in the mempool.
    height bigint,
    primary key (network, txid, output),
    foreign key (network, height) references sim_block (network, height) deferrable initially deferred
);
create index sim_transfer_by_height on sim_transfer (network, height);
