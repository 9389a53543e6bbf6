-- Payouts that merchants sign on bitcoin, litecoin and dogecoin: what is spent, and where a transaction was looked for.
--
-- There are no nonces and no chain ids there. What keeps two transactions apart are the outputs that they spend, so an
-- output is submitted once.

alter table nc_payout alter column chain_id drop not null;
alter table nc_payout_transaction alter column nonce drop not null;

create table nc_payout_input (
    payout_id uuid not null references nc_payout (id),
    network text not null,
    -- txid:n
    outpoint text not null constraint nc_payout_input_outpoint_form check (outpoint ~ '^[0-9a-f]{64}:[0-9]{1,10}$'),
    amount numeric(39, 0) not null constraint nc_payout_input_amount check (amount > 0 and amount <> 'NaN'),
    -- Whether bytes that spend it are stored, and have not failed for good.
    taken boolean not null default false,
    primary key (payout_id, outpoint)
);
create unique index nc_payout_input_once on nc_payout_input (network, outpoint) where taken;
create trigger nc_payout_input_is_for_ever before delete or update of payout_id, network, outpoint, amount on nc_payout_input
    for each row execute function payout_refuse_edit();

-- How far the blocks were searched, as in payout_search; it begins where the payout was built, before anybody could sign it.
create table nc_payout_search (
    payout_id uuid primary key references nc_payout (id),
    height bigint not null,
    hash text,
    found text,
    missing_since bigint
);
