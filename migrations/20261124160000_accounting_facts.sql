-- Facts that accounting needs and that cannot be found out later. They are recorded from now on and stay null in older rows,
-- except where another row of the same transaction tells them (20261124160100_finished_at.sql).
--
-- Every column is added without a default and every check without a scan, so that a running system goes on.

-- When an invoice was paid in full. An invoice that expired or was cancelled has no row.
--
-- A table, because a column of invoice would stop programs of the release before: they have prepared `select * from invoice`, and
-- PostgreSQL refuses such a statement once its result has another shape.
create table invoice_finish (
    invoice_id uuid primary key references invoice (id),
    finished_at timestamptz not null
);

alter table deposit
    -- When it had its confirmations; null again if its block left the chain before it was booked.
    add column final_at timestamptz,
    -- The address it came from, where the network names one for each transfer.
    add column sender text,
    -- Its value when it was booked, in the invoice's fiat currency, otherwise in USD: amount × rate, to 8 decimals.
    add column fiat_currency text,
    add column fiat_value numeric,
    add column fiat_rate numeric(28, 12),
    add column fiat_rate_source text,
    -- The time of the rate, which may be older than the booking.
    add column fiat_rate_at timestamptz,
    add constraint deposit_fiat_value_complete
        check (num_nonnulls(fiat_currency, fiat_value, fiat_rate, fiat_rate_source, fiat_rate_at) in (0, 5)) not valid,
    add constraint deposit_fiat_value_range check (fiat_value >= 0 and fiat_value < 'Infinity') not valid;

-- The accepted price of each coin in each fiat currency, the first of each minute. The sweeper deletes what is older than 400 days.
-- Read from a moment back; rows arrive at the end of the index and leave at its beginning.
create table rate_history (
    minute timestamptz not null,
    symbol text not null,
    fiat text not null,
    price numeric(28, 12) not null constraint rate_history_positive check (price > 0 and price < 'Infinity'),
    source text not null,
    observed_at timestamptz not null,
    primary key (minute, symbol, fiat)
);

insert into role_grant (role, what)
values
    ('gateway_api', 'insert on invoice_finish'),
    ('gateway_worker', 'insert on invoice_finish'),
    ('gateway_dashboard', 'insert on invoice_finish'),
    ('gateway_worker', 'insert, update, delete on rate_history'),
    ('gateway_dashboard', 'insert on rate_history'),
    -- A deposit is booked by the API too: a draft's choice settles what has arrived already.
    ('gateway_api', 'update (final_at, fiat_currency, fiat_value, fiat_rate, fiat_rate_source, fiat_rate_at) on deposit'),
    ('gateway_payer', 'update (final_at, fiat_currency, fiat_value, fiat_rate, fiat_rate_source, fiat_rate_at) on deposit');

select grant_roles();
