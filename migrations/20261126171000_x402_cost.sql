-- What one settlement of x402 costs at present, by the price of gas: nothing that is worth less is settled. The role x402-settlement
-- notes it several times a minute; a row that is older than ten minutes says nothing any more.
create table x402_cost (
    network text primary key,
    -- Millionths of a USD, rounded up.
    usd_micros bigint not null constraint x402_cost_not_negative check (usd_micros >= 0),
    noted_at timestamptz not null default clock_timestamp()
);

-- The API reads it alone: who could write it there could have every payment refused, or gas burnt.
insert into role_grant (role, what) values ('gateway_payer', 'insert, update on x402_cost');

select grant_roles();
