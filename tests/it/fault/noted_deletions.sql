-- Rows that each statement deletes from a swept table, and how long it took.
create table noted_deletion (
    relation text not null,
    transaction xid8 not null,
    rows bigint not null,
    took interval not null
);

create function note_deletion() returns trigger language plpgsql as $$
begin
    insert into noted_deletion (relation, transaction, rows, took)
    select tg_table_name, pg_current_xact_id(), count(*), clock_timestamp() - statement_timestamp() from gone;
    return null;
end
$$;

create trigger note_deletion after delete on idempotency
    referencing old table as gone for each statement execute function note_deletion();
create trigger note_deletion after delete on request_window
    referencing old table as gone for each statement execute function note_deletion();
