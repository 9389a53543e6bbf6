-- Some deposits need more confirmations than their network asks for: coins that their receiver cannot spend yet (a miner's
-- reward, a peg-out) and large amounts. Decided when a deposit is seen; more of it is never taken back.
alter table deposit
    add column min_confirmations bigint not null default 1
        constraint deposit_min_confirmations_sound check (min_confirmations >= 1);
