-- Who changed what by hand. The operator's program names its user when it connects, and the database notes each change in the
-- transaction of the change: no command can forget to, and nothing is noted that did not happen. Where rows alone would not
-- say what was meant, the command adds an entry of its own.

create table audit_entry (
    id bigint generated always as identity primary key,
    at timestamptz not null default clock_timestamp(),
    operator text not null,
    -- A table, what was done to one of its rows, and what people call the row. Or what a command is about, and its name.
    subject_kind text not null,
    act text not null,
    subject text not null,
    -- The columns that changed. A value is here only if its column was named as harmless; of all others it says "…".
    change jsonb not null
);
create index audit_entry_by_subject on audit_entry (subject, id);

create function audit_refuse_edit() returns trigger language plpgsql as $$
begin
    raise exception 'what was noted stays as it is' using errcode = 'check_violation', constraint = 'audit_is_kept';
end $$;
create trigger audit_is_kept before update or delete on audit_entry for each row execute function audit_refuse_edit();

-- Empty in every program but the operator's.
create function audited_operator() returns text language sql stable as
    $$ select nullif(current_setting('gateway.operator', true), '') $$;

-- Arguments: the column that names the row to people, then the columns whose values may be shown.
create function audit_row() returns trigger language plpgsql as $$
declare
    before jsonb := coalesce(to_jsonb(old), '{}');
    after jsonb := coalesce(to_jsonb(new), '{}');
    row_now jsonb := case when tg_op = 'DELETE' then before else after end;
    changed jsonb;
begin
    select jsonb_object_agg(key, case when key = any (tg_argv[1:]) then value else '"…"'::jsonb end)
    into changed
    from jsonb_each(row_now)
    where key <> 'updated_at' and (tg_op = 'DELETE' or value is distinct from coalesce(before -> key, 'null'));
    insert into audit_entry (operator, subject_kind, act, subject, change)
    values (audited_operator(), tg_table_name, lower(tg_op), row_now ->> tg_argv[0], coalesce(changed, '{}'));
    return null;
end $$;

create trigger merchant_audited after insert or update on merchant for each row
    when (audited_operator() is not null)
    execute function audit_row('id', 'name', 'api_key_preview', 'overpay_bps', 'payment_window_seconds', 'selection_window_seconds',
        'open_invoices_max', 'accepted_tokens', 'suspended_at');
create trigger currency_setting_audited after insert or update or delete on currency_setting for each row
    when (audited_operator() is not null) execute function audit_row('token_id', 'enabled', 'min_usd');
create trigger invoice_audited after update on invoice for each row
    when (audited_operator() is not null) execute function audit_row('payment_id', 'status');
create trigger deposit_audited after insert or update on deposit for each row
    when (audited_operator() is not null)
    execute function audit_row('tx_hash', 'network', 'tx_hash', 'deposit_key', 'token_id', 'amount', 'state', 'invoice_id');
create trigger payout_order_audited after update on payout_order for each row
    when (audited_operator() is not null)
    execute function audit_row('order_id', 'state', 'cancelled_by', 'held_at', 'hold_reason');
create trigger payout_release_audited after insert on payout_release for each row
    when (audited_operator() is not null) execute function audit_row('order_id', 'order_id', 'released_by');
create trigger payout_stop_audited after insert or update or delete on payout_stop for each row
    when (audited_operator() is not null) execute function audit_row('network', 'network', 'reason');
-- What was set in motion: a dead letter sent again, an order looked at once more. Messages hold ids and nothing else.
create trigger outbox_audited after insert on outbox for each row
    when (audited_operator() is not null) execute function audit_row('route', 'body');

-- A pool of ten thousand addresses is one act.
create function audit_pool() returns trigger language plpgsql as $$
begin
    insert into audit_entry (operator, subject_kind, act, subject, change)
    select audited_operator(), 'address_pool', 'insert', family,
           jsonb_build_object('addresses', count(*), 'first', min(derivation_index), 'last', max(derivation_index))
    from made group by family;
    return null;
end $$;
create trigger address_pool_audited after insert on address_pool referencing new table as made for each statement
    when (audited_operator() is not null) execute function audit_pool();
