-- What operators did by hand, beside what it changed: written in the same transaction, never edited.
create table operator_act (
    id uuid primary key,
    act text not null,
    -- What it was done to: a deposit's id, a network, an address.
    subject text not null,
    done_by text not null constraint operator_act_done_by_length check (char_length(done_by) between 1 and 200),
    detail text not null,
    done_at timestamptz not null default clock_timestamp()
);
create index operator_act_by_subject on operator_act (subject, done_at, id);

create function operator_act_refuse_edit() returns trigger language plpgsql as $$
begin
    raise exception 'acts of operators are append-only' using errcode = 'check_violation', constraint = 'operator_act_append_only';
end $$;
create trigger operator_act_append_only before update or delete on operator_act
    for each row execute function operator_act_refuse_edit();
