-- A row that is written every five seconds where exports read a replica: how far the replica has followed, even while nothing else is
-- written.
create table export_heartbeat (
    single boolean primary key default true constraint export_heartbeat_only check (single),
    beat_at timestamptz not null
);

insert into role_grant (role, what)
values
    ('gateway_worker', 'insert, update on export_heartbeat');

select grant_roles();
