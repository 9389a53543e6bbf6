-- Exports: the entries of one account in the order of their booking, and the places of exports that are being made.
--
-- Custody accounts and the treasury are left out: they belong to no merchant, and most entries touch one. Bookings wait while the
-- indices are built, some seconds for ten million entries.
create index ledger_entry_by_credit_time on ledger_entry (credit, created_at, id)
    where credit not like 'custody:%' and credit <> 'treasury';
create index ledger_entry_by_debit_time on ledger_entry (debit, created_at, id)
    where debit not like 'custody:%' and debit <> 'treasury';

-- Two exports of a merchant at once, over all replicas. A place whose program died is free again when its lease ends.
create table export_slot (
    merchant_id uuid not null references merchant (id),
    slot smallint not null constraint export_slot_range check (slot between 1 and 2),
    taken_by uuid not null,
    leased_until timestamptz not null,
    primary key (merchant_id, slot)
);

insert into role_grant (role, what)
values
    ('gateway_api', 'insert, update, delete on export_slot');

select grant_roles();
