-- Anybody may send any number of transfers to any address. A flood of them must cost neither the watcher nor other merchants.

-- Transfers of unknown contracts that were left out, because their address has more than enough of them already. One that
-- a reorganisation puts into another block counts again.
create table transfers_left_out (
    network text not null,
    address_id uuid not null references deposit_address (id),
    transfers bigint not null constraint transfers_left_out_positive check (transfers > 0),
    -- One of them, for people who look for more.
    last_tx_hash text not null,
    first_at timestamptz not null default clock_timestamp(),
    last_at timestamptz not null default clock_timestamp(),
    primary key (network, address_id)
);

-- Final deposits of an invoice that wait to be booked, however many were booked before.
create index deposit_invoice_final on deposit (invoice_id, first_seen_at, id)
    where invoice_id is not null and state = 'final';
-- What an address has of unknown contracts.
create index deposit_unknown on deposit (address_id) where token_id is null;
