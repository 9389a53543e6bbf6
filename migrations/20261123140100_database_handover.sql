-- A planned failover. 'closed' is the last commit of the database that is handed over: a standby that has it lacks nothing. While
-- either word stands there, the database that wrote it lets none of our programs in.
alter table database_identity
    add column handover text constraint database_identity_handover check (handover in ('closing', 'closed'));
