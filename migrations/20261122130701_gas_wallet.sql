-- What operators have put into the gas wallet of each network, as its balance shows it: the coins there, those that its
-- payments took, less what came back. It only grows, unless coins leave by another hand.
create table gas_wallet (
    network text not null,
    address text not null,
    paid_in numeric(39, 0) not null constraint gas_wallet_paid_in check (paid_in >= 0 and paid_in <> 'NaN'),
    height bigint not null,
    seen_at timestamptz not null default now(),
    primary key (network, address)
);

create index payout_payment_gas_return on payout_payment (network) where purpose = 'gas_return';
