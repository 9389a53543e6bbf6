-- What the operators' screens of the dashboard keep.

-- A press of "send again", with the deliveries that it queued: its outcome is counted from their rows.
create table requeue_run (
    id uuid primary key,
    asked_by text not null,
    -- The group in words.
    subject text not null,
    asked_at timestamptz not null default clock_timestamp()
);
create index requeue_run_by_time on requeue_run (asked_at);

create table requeue_run_item (
    run_id uuid not null references requeue_run (id),
    delivery_id uuid not null references delivery (id),
    -- The cycle that the run asked for.
    cycle integer not null,
    primary key (run_id, delivery_id)
);
create index requeue_run_item_by_delivery on requeue_run_item (delivery_id);

-- A merchant whose pages an operator's session shows, to be read alone.
create table observation (
    session_handle uuid primary key references account_session (handle) on delete cascade,
    merchant_id uuid not null references merchant (id),
    began_at timestamptz not null default clock_timestamp()
);

-- Shown on every page of merchants until it ends, is withdrawn, or its reader has dismissed it.
create table announcement (
    id uuid primary key,
    title text not null constraint announcement_title_length check (char_length(title) between 1 and 120),
    body text not null constraint announcement_body_length check (char_length(body) <= 2000),
    created_by text not null,
    created_at timestamptz not null default clock_timestamp(),
    ends_at timestamptz,
    withdrawn_at timestamptz
);
create index announcement_shown on announcement (created_at) where withdrawn_at is null;
create index announcement_by_time on announcement (created_at, id);

create table announcement_dismissal (
    announcement_id uuid not null references announcement (id),
    account_id uuid not null,
    dismissed_at timestamptz not null default clock_timestamp(),
    primary key (announcement_id, account_id)
);

-- The last result of the doctor, for a network or, as '*', for the whole installation.
create table examination (
    subject text primary key,
    asked_by text not null,
    asked_at timestamptz not null,
    finished_at timestamptz,
    -- JSON.
    findings text
);

-- An approval in the dashboard is an account's, and is bound to what its page showed. Approvals of accounts and of users of the
-- operating system do not add up: one person may have both.
alter table payout_release
    add column by_account boolean not null default false,
    add column seen text;

create trigger announcement_audited after insert or update on announcement for each row
    when (audited_operator() is not null) execute function audit_row('id', 'title', 'ends_at', 'withdrawn_at');

create index audit_entry_by_operator on audit_entry (operator, id);
-- Deposits that ask for a decision; few of all.
create index deposit_odd on deposit (booked_as, settled_at, id) where booked_as in ('late', 'foreign', 'suspicious');
-- Invoices of a month, for the effect of a new minimum. Rows lie in the order of their creation, so this one costs next to nothing.
create index invoice_by_month on invoice using brin (created_at);

insert into role_grant (role, what)
values
    ('gateway_dashboard', 'insert, delete on requeue_run, requeue_run_item'),
    ('gateway_dashboard', 'insert, update, delete on observation'),
    ('gateway_dashboard', 'insert, update on announcement, examination'),
    ('gateway_dashboard', 'insert, delete on announcement_dismissal');

select grant_roles();
