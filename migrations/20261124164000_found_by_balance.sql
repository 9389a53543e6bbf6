-- How a deposit was found is a column of its own; until now only its key told, by an @ in it.
alter table deposit
    -- No transaction showed it; the balance of its address did.
    add column found_by_balance boolean not null default false;

-- During an update programs of the earlier release go on writing, and know nothing of the column. The release after this one
-- drops the trigger, and the index deposit_gone_by_balance, which serves the earlier release's queries alone.
create function deposit_found_by_balance_by_key() returns trigger language plpgsql as $$
begin
    new.found_by_balance := true;
    return new;
end
$$;
create trigger deposit_found_by_balance_by_key before insert on deposit
    for each row when (not new.found_by_balance and new.deposit_key like '%@%')
    execute function deposit_found_by_balance_by_key();
