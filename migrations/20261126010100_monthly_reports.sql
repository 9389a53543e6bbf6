-- Monthly reports: what the ledger said of a month once the month was over. Later corrections are entries of a later month, so a
-- report is never changed.

create table monthly_report (
    merchant_id uuid not null references merchant (id),
    month text not null constraint monthly_report_month check (month ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
    generated_at timestamptz not null,
    -- Of the file, whose content is in report_chunk.
    row_count bigint not null,
    byte_count bigint not null,
    sha256 text not null,
    -- By currency: balances and movements. JSON as text, so that it stays the same bytes.
    totals text not null,
    primary key (merchant_id, month)
);

-- The ledger of the month as CSV, in pieces.
create table report_chunk (
    merchant_id uuid not null,
    month text not null,
    place integer not null,
    content bytea not null,
    primary key (merchant_id, month, place)
);

create function report_refuse_edit() returns trigger language plpgsql as $$
begin
    raise exception 'a monthly report stays as it is' using errcode = 'check_violation', constraint = 'report_is_kept';
end $$;
create trigger report_is_kept before update or delete on monthly_report
    for each row execute function report_refuse_edit();
create trigger report_chunk_is_kept before update or delete on report_chunk
    for each row execute function report_refuse_edit();

insert into role_grant (role, what)
values
    ('gateway_worker', 'insert on monthly_report, report_chunk'),
    ('gateway_dashboard', 'insert on monthly_report, report_chunk');

select grant_roles();
