-- Grants for the tables that came beside the roles, and for what a refreshed quote of a waiting order clears.
insert into role_grant (role, what)
values
    ('gateway_api', 'insert, update on master_key_proof'),
    ('gateway_worker', 'insert, update on master_key_proof'),
    ('gateway_payer', 'insert, update on master_key_proof'),
    ('gateway_dashboard', 'insert, update on master_key_proof'),
    ('gateway_worker', 'insert, update on transfers_left_out'),
    ('gateway_api', 'update (waits_for) on payout_order'),
    ('gateway_dashboard', 'update (gas_open) on payout_order');

select grant_roles();
