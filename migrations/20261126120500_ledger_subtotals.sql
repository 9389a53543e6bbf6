-- Sums of what is sealed, so that a balance reads its newest entries instead of all of them. They are derived: without these rows
-- every balance is the same, only slower.

create table ledger_subtotal (
    account text not null,
    asset text not null,
    -- Base units of all entries up to the last sealed one; negative where a reversal took more than there was.
    units numeric(78) not null constraint ledger_subtotal_number check (units <> 'NaN'),
    primary key (account, asset)
);

-- What was sealed before this table existed, once, up to the last sealed entry.
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
