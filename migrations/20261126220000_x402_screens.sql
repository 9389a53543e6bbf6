-- What the dashboard's screens of x402 need: pages of resources and of settlements, edits, and the wallet as its role saw it last.

-- Counts the edits of its text, so that of two at once the second is refused.
alter table x402_resource add column edits integer not null default 0;
create index x402_resource_off on x402_resource (merchant_id, created_at, id) where deleted_at is not null;

create index x402_settlement_by_merchant on x402_settlement (merchant_id, created_at, id);
-- Settled ones are nearly all, so a list of them needs no index of its own; each other state is rare.
create index x402_settlement_unsettled on x402_settlement (merchant_id, state, created_at, id) where state <> 'settled';
create index x402_settlement_unsettled_by_address on x402_settlement (address_id, state, created_at, id) where state <> 'settled';

-- The wallet that pays the gas, one row for each network.
create table x402_gas (
    network text primary key,
    address text not null,
    balance numeric(39, 0) not null constraint x402_gas_balance_range check (balance >= 0 and balance <> 'NaN'),
    -- Settlements that it pays for at the price of gas of that moment.
    settlements bigint not null constraint x402_gas_settlements_range check (settlements >= 0),
    seen_at timestamptz not null default clock_timestamp()
);

insert into role_grant (role, what)
values
    ('gateway_payer', 'insert, update on x402_gas'),
    -- A resource that is made by hand has an address of its own, and its token is read.
    ('gateway_dashboard', 'insert, update (url, description, mime_type, timeout_seconds, listed, deleted_at, edits) on x402_resource'),
    ('gateway_dashboard', 'insert, update on x402_domain');

select grant_roles();
