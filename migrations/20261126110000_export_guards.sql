-- The dashboard's downloads hold a place as the API's exports do.
insert into role_grant (role, what)
values
    ('gateway_dashboard', 'insert, update, delete on export_slot');

-- Triggers for each row do not fire when a table is truncated.
create trigger ledger_seal_batch_is_not_truncated before truncate on ledger_seal_batch
    for each statement execute function ledger_seal_refuse_edit();
create trigger ledger_seal_is_not_truncated before truncate on ledger_seal
    for each statement execute function ledger_seal_refuse_edit();
create trigger report_is_not_truncated before truncate on monthly_report
    for each statement execute function report_refuse_edit();
create trigger report_chunk_is_not_truncated before truncate on report_chunk
    for each statement execute function report_refuse_edit();

select grant_roles();
