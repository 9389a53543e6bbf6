-- Value that was found by an address's balance and lost its block: looked for again at each head.
create index deposit_gone_by_balance on deposit (network) where height is null and deposit_key like '%@%';
