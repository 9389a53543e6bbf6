-- Native value that blocks do not show is found by comparing balances, so what an address held before it was given to
-- anyone must be known: a re-used key, or somebody's dust, pays no invoice.
alter table deposit_address
    -- The watcher's height when the address was given; null when the network had never been looked at.
    add column issued_height bigint,
    -- In base units, at that height; null until it was read.
    add column starting_balance numeric(39, 0) constraint deposit_address_starting_balance_sound check (starting_balance >= 0);
