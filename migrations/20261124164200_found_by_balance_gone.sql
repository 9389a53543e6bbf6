-- Value that was found by an address's balance and lost its block: looked for again at each head. Deposits are not written
-- while the index is built, which is one scan of the table; in a step of its own, so that nothing else makes it longer.
create index deposit_found_by_balance_gone on deposit (network) where height is null and found_by_balance;
