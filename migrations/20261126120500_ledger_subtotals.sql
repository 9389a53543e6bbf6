-- Sums of what is sealed, so that a balance reads its newest entries instead of all of them. They are derived: without these rows
-- every balance is the same, only slower.

create table ledger_subtotal (
    account text not null,
    asset text not null,
    -- Base units of all entries up to the last sealed one; negative where a reversal took more than there was.
    units numeric(78) not null constraint ledger_subtotal_number check (units <> 'NaN'),
    primary key (account, asset)
);

-- The sums move with the seal, whichever release writes it: one that knows nothing of them seals too while programs are being replaced,
-- and what it left out would be missing for ever. Sealers come one after another, each behind the lock for sealing.
create function ledger_subtotal_add() returns trigger language plpgsql as $$
begin
    insert into ledger_subtotal as s (account, asset, units)
    select account, asset, sum(amount)
    from (
        select id, credit as account, asset, amount from ledger_entry
        union all
        select id, debit, asset, -amount from ledger_entry
    ) as side
    where id <= new.through_id
      and id > (select coalesce(max(through_id), 0) from ledger_seal_batch where through_id < new.through_id)
    group by account, asset
    on conflict (account, asset) do update set units = s.units + excluded.units;
    return null;
end $$;
create trigger ledger_subtotal_is_added after insert on ledger_seal_batch
    for each row execute function ledger_subtotal_add();

-- What was sealed before, once. The new trigger has locked the batches, so none comes between.
insert into ledger_subtotal (account, asset, units)
select account, asset, sum(amount)
from (
    select credit as account, asset, amount from ledger_entry
    where id <= (select coalesce(max(through_id), 0) from ledger_seal_batch)
    union all
    select debit, asset, -amount from ledger_entry
    where id <= (select coalesce(max(through_id), 0) from ledger_seal_batch)
) as side
group by account, asset;

insert into role_grant (role, what) values ('gateway_worker', 'insert, update on ledger_subtotal');

select grant_roles();
