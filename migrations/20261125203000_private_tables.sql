-- Tables that open the dashboard: hashes of passwords, sessions, links and recovery codes, sealed secrets of second factors. Only the
-- dashboard's role reads them. The other programs' roles may read every table (20261123131100_roles.sql), so these are taken out again
-- each time that grants are given: a stolen password of the API then gives nobody a hash to work on.
--
-- A later migration that adds such a table adds its row here and calls grant_roles() again.

create table private_table (
    name text primary key
);
insert into private_table (name)
values ('account'), ('account_session'), ('account_link'), ('recovery_code'), ('guess_budget');

-- As before, and takes away what of the above the other programs' roles were given with all tables.
create or replace function grant_roles() returns setof text language plpgsql as $$
declare
    wanted text;
    given text;
    private text;
begin
    -- Of two that grant on one table at once one would fail.
    perform pg_advisory_xact_lock(hashtextextended('gateway:roles', 0));
    for wanted in select distinct role from role_grant order by role loop
        if to_regrole(wanted) is null then
            begin
                execute format('create role %I nologin', wanted);
            exception
                when duplicate_object or unique_violation then null;
                when insufficient_privilege then
                    raise notice 'role % is missing and this user may not create it: create role % nologin', wanted, wanted;
            end;
        end if;
        if to_regrole(wanted) is null then
            return next wanted;
        else
            for given in select what from role_grant where role = wanted order by what loop
                execute format('grant %s to %I', given, wanted);
            end loop;
            if wanted in ('gateway_api', 'gateway_worker', 'gateway_payer') then
                for private in select name from private_table order by name loop
                    execute format('revoke all on %I from %I', private, wanted);
                end loop;
            end if;
        end if;
    end loop;
end $$;

select grant_roles();
