-- A hash chain over the ledger, for each account: what was booked once can be proven to be what stands there now. Built in batches by
-- the reporter, some minutes behind, so that no booking waits for it.

create table ledger_seal_batch (
    -- The last entry of the batch; the next one begins behind it.
    through_id bigint primary key,
    entries integer not null constraint ledger_seal_batch_entries check (entries > 0),
    sealed_at timestamptz not null default now()
);

create table ledger_seal (
    account text not null,
    through_id bigint not null,
    -- Of the account's hash before the batch and each of its entries in it, in the order of their ids.
    hash bytea not null constraint ledger_seal_hash_length check (octet_length(hash) = 32),
    primary key (account, through_id)
);
create index ledger_seal_by_batch on ledger_seal (through_id, account);

create function ledger_seal_refuse_edit() returns trigger language plpgsql as $$
begin
    raise exception 'a seal of the ledger stays as it is' using errcode = 'check_violation', constraint = 'ledger_seal_is_kept';
end $$;
create trigger ledger_seal_batch_is_kept before update or delete on ledger_seal_batch
    for each row execute function ledger_seal_refuse_edit();
create trigger ledger_seal_is_kept before update or delete on ledger_seal
    for each row execute function ledger_seal_refuse_edit();

-- The result of the last verification, one row.
create table ledger_check (
    single boolean primary key default true constraint ledger_check_only check (single),
    checked_at timestamptz not null,
    entries bigint not null,
    faults bigint not null,
    detail text not null
);

insert into role_grant (role, what)
values
    ('gateway_worker', 'insert on ledger_seal, ledger_seal_batch'),
    ('gateway_worker', 'insert, update on ledger_check'),
    ('gateway_dashboard', 'insert, update on ledger_check');

select grant_roles();
