-- Tokens on EVM networks: gas that a wallet of the gateway's own fronts to an order's address, and what comes back of it.
-- Fees as the networks ask them now.

alter table payout_payment drop constraint payout_payment_purpose_known;
alter table payout_payment add constraint payout_payment_purpose_known
    check (purpose in ('pay', 'refund', 'gas', 'gas_return'));
-- The gas wallet pays for many orders; these are the ones that a balance does not show yet.
create index payout_payment_gas on payout_payment (network, created_at) where purpose = 'gas';

-- What of the fee goes to the maker of the block. A replacement must raise both parts.
alter table payout_version add column tip numeric(39, 0) not null default 0
    constraint payout_version_tip check (tip >= 0 and tip <= fee_rate and tip <> 'NaN');

-- Set with the first gas that is fronted, until what is left of it went back or is not worth sending.
alter table payout_order add column gas_open boolean not null default false;

-- What a unit of work costs on a network, as its node told last. Quotes are made of it where networks are real.
create table network_fee (
    network text primary key,
    fee_rate numeric(39, 0) not null constraint network_fee_rate check (fee_rate >= 0 and fee_rate <> 'NaN'),
    observed_at timestamptz not null default now()
);

-- Our own gas, found at an order's address like any payment.
alter table deposit drop constraint deposit_booked_as_known;
alter table deposit add constraint deposit_booked_as_known
    check (booked_as in ('credit', 'late', 'foreign', 'suspicious', 'nothing', 'gas'));
