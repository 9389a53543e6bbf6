-- A role that is offered and not accepted says nothing about its account: any owner can offer one to any address. Changing it, taking it
-- back, or suspending its merchant ends no session of that account.

drop trigger membership_ends_sessions on membership;
create trigger membership_ends_sessions after update of role, merchant_id or delete on membership
    for each row when (old.accepted_at is not null) execute function end_sessions_of_account();

create or replace function end_sessions_of_suspended() returns trigger language plpgsql as $$
begin
    update account_session s
    set ended_at = clock_timestamp()
    from membership m
    where m.merchant_id = new.id and m.accepted_at is not null and m.account_id = s.account_id and s.ended_at is null;
    return null;
end $$;
