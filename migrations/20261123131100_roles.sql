-- Database roles, one per kind of program, so that a stolen password of one cannot do what another does: the API's writes no
-- payment, and the payer's no order. They have no login; an administrator grants them to users (deploy/RUNBOOK.md).
-- An installation with one user for everything goes on as before.
--
-- A later migration that adds a table adds its rows to role_grant and calls grant_roles() again.

create table role_grant (
    role text not null constraint role_grant_role_known
        check (role in ('gateway_api', 'gateway_worker', 'gateway_payer', 'gateway_dashboard', 'gateway_migrate')),
    -- As it stands in a GRANT, from the privileges to the object.
    what text not null,
    primary key (role, what)
);

-- Makes the roles that are missing, as far as this user may, and grants what the table says. Returns the roles that are still
-- missing: another user with CREATEROLE makes them, and the next `gatewayctl migrate` grants.
--
-- Roles belong to the whole server: databases that are migrated at once may make the same one, and the second finds it there.
create function grant_roles() returns setof text language plpgsql as $$
declare
    wanted text;
    given text;
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
        end if;
    end loop;
end $$;

-- Every program reads rows, notes what people must look at, publishes through the outbox, and makes a database safe that has lost
-- commits (src/storage/identity.rs): it moves sequences, empties pools and stops signing. None may end a stop but operators.
insert into role_grant (role, what)
select role, what
from unnest(array['gateway_api', 'gateway_worker', 'gateway_payer', 'gateway_dashboard']) as role,
     unnest(array[
         'usage on schema public',
         'select on all tables in schema public',
         'usage, update on all sequences in schema public',
         'insert, update on database_identity',
         'insert, update (reason) on payout_stop',
         'update (taken_at) on address_pool',
         'insert, update, delete on operator_alert',
         'insert, update, delete on outbox',
         'insert on outbox_quarantine',
         'insert, update, delete on timer',
         'insert, update on delivery',
         'insert on delivery_attempt',
         'insert on ledger_entry',
         -- What a deposit came to, never which it is, whose or how much.
         'update (state, booked_as, settled_at, orphaned_height, still_counted, counted_units, updated_at) on deposit',
         -- The simulated chain, which production refuses.
         'insert, update, delete on sim_block, sim_transfer, sim_spend'
     ]) as what;

insert into role_grant (role, what)
values
    ('gateway_api', 'insert, update on invoice'),
    ('gateway_api', 'insert, update on merchant_invoices'),
    ('gateway_api', 'insert, update, delete on idempotency'),
    ('gateway_api', 'insert, update, delete on request_window'),
    ('gateway_api', 'insert on deposit_address'),
    -- Locks the merchant's row; keys and secrets are operators'.
    ('gateway_api', 'update (slow_until) on merchant'),
    ('gateway_api', 'insert on payout_order, payout_item, payout_batch, payout_idempotency'),
    ('gateway_api', 'update (state, funding, credited, late, kept, reserved, paid, returned, failed, cancelled_by, network_fee, '
        'service_fee, total_to_send, quote_id, quote_created_at, quote_expires_at, fee_rate, native_price_usd, '
        'asset_price_usd, deposit_address, derivation_index, expires_at, confirmed_at, funded_at, finished_at, updated_at, '
        'digest) on payout_order'),
    ('gateway_api', 'update (net_amount) on payout_item'),
    ('gateway_api', 'insert, update on nc_payout, nc_payout_input, nc_payout_output, nc_payout_search, nc_payout_transaction'),

    ('gateway_worker', 'insert, update on invoice'),
    ('gateway_worker', 'insert, update on merchant_invoices'),
    ('gateway_worker', 'insert, update, delete on idempotency'),
    ('gateway_worker', 'insert, update, delete on request_window'),
    ('gateway_worker', 'insert, update, delete on rate'),
    ('gateway_worker', 'insert, update, delete on network_fee'),
    ('gateway_worker', 'insert, update, delete on chain_cursor, chain_block'),
    ('gateway_worker', 'insert, update, delete on balance_difference, balance_walk, gas_wallet'),
    ('gateway_worker', 'insert, update on deposit'),
    ('gateway_worker', 'update on deposit_address'),
    ('gateway_worker', 'update (slow_until, slow_results, slow_results_since) on merchant'),
    ('gateway_worker', 'update (state, funding, credited, late, kept, reserved, paid, returned, failed, cancelled_by, expires_at, '
        'funded_at, finished_at, held_at, hold_reason, waits_for, updated_at) on payout_order'),
    ('gateway_worker', 'insert, update on nc_payout, nc_payout_input, nc_payout_output, nc_payout_search, nc_payout_transaction'),

    ('gateway_payer', 'insert, update on network_fee'),
    ('gateway_payer', 'insert, update on gas_wallet'),
    ('gateway_payer', 'update (state, funding, credited, late, kept, reserved, paid, returned, failed, cancelled_by, expires_at, '
        'funded_at, finished_at, held_at, hold_reason, waits_for, leased_until, gas_open, updated_at) on payout_order'),
    ('gateway_payer', 'update (state, payment_id, error) on payout_item'),
    ('gateway_payer', 'update on payout_batch'),
    ('gateway_payer', 'insert, update on payout_payment, payout_search'),
    ('gateway_payer', 'insert on payout_version, payout_input'),

    -- Operators: the dashboard, and gatewayctl but for its migrations. They record payments that ended, and make none.
    ('gateway_dashboard', 'insert, update, delete on merchant, currency_setting'),
    ('gateway_dashboard', 'insert, update on merchant_invoices'),
    ('gateway_dashboard', 'insert, update on invoice'),
    ('gateway_dashboard', 'insert, update on deposit'),
    ('gateway_dashboard', 'insert, update on deposit_address, address_pool'),
    ('gateway_dashboard', 'insert, update, delete on rate'),
    ('gateway_dashboard', 'insert, update, delete on request_window'),
    ('gateway_dashboard', 'insert, update, delete on chain_cursor, chain_block'),
    ('gateway_dashboard', 'insert, update, delete on balance_difference, balance_walk, gas_wallet'),
    ('gateway_dashboard', 'insert on audit_entry'),
    ('gateway_dashboard', 'insert, update, delete on payout_stop, payout_release'),
    ('gateway_dashboard', 'update (state, funding, credited, late, kept, reserved, paid, returned, failed, cancelled_by, expires_at, '
        'funded_at, finished_at, held_at, hold_reason, waits_for, refund_address, updated_at, digest) on payout_order'),
    ('gateway_dashboard', 'update (state, error) on payout_item'),
    ('gateway_dashboard', 'update on payout_batch'),
    ('gateway_dashboard', 'update (state, tx_hash, sent_at, fee, height, ended_at) on payout_payment'),
    ('gateway_dashboard', 'insert on payout_version, payout_input'),
    ('gateway_dashboard', 'insert, update on nc_payout, nc_payout_input, nc_payout_output, nc_payout_search, nc_payout_transaction'),

    -- Changing a table needs its owner: see deploy/RUNBOOK.md.
    ('gateway_migrate', 'usage, create on schema public'),
    ('gateway_migrate', 'all on all tables in schema public'),
    ('gateway_migrate', 'all on all sequences in schema public');

select grant_roles();
