-- The table that the row was written in. `pg_restore --clean` into the same database of the same server makes all tables anew
-- and leaves every other mark as it was. Null until a program of this release has looked.
alter table database_identity add column table_id bigint;
