-- Which database this is: its server, itself in it, and the timeline of its log. A standby that took over, a restored
-- backup and a copy differ in at least one, and may lack what was committed last.
create table database_identity (
    only_row boolean primary key default true constraint database_identity_single check (only_row),
    identity text not null,
    -- How often it turned out to be another one.
    returns integer not null default 0,
    updated_at timestamptz not null default now()
);
