-- Subscriptions. Their timer is a column: each due row is claimed by one worker, decided under the row's lock, and its reminders
-- commit with the next due time.
alter table link
    add column interval text constraint link_interval_known check (interval in ('day', 'week', 'month', 'year')),
    add column interval_count integer constraint link_interval_count_positive check (interval_count > 0),
    add column cycles_max integer constraint link_cycles_max_positive check (cycles_max > 0),
    add column sandbox_day_seconds integer constraint link_sandbox_day_range check (sandbox_day_seconds between 1 and 86400);

create table subscription (
    id uuid primary key,
    -- The public id, pzs_ and 130 random bits.
    subscription_id text not null constraint subscription_id_unique unique,
    merchant_id uuid not null references merchant (id),
    link_id uuid not null references link (id),
    email text not null,
    state text not null constraint subscription_state_known
        check (state in ('pending', 'active', 'past_due', 'cancelled', 'ended')),
    -- The subscription's own; a changed link changes new subscribers only.
    price_amount numeric(33, 18) not null constraint subscription_price_positive check (price_amount > 0 and price_amount <> 'NaN'),
    price_currency text not null,
    interval text not null constraint subscription_interval_known check (interval in ('day', 'week', 'month', 'year')),
    interval_count integer not null constraint subscription_interval_count_positive check (interval_count > 0),
    payments_max integer constraint subscription_payments_max_positive check (payments_max > 0),
    anchor timestamptz not null,
    covered integer not null default 0 constraint subscription_covered_range check (covered >= 0),
    payments integer not null default 0 constraint subscription_payments_range check (payments >= 0),
    reminded smallint constraint subscription_reminded_range check (reminded between -3 and 3),
    -- Of its clock: seconds that a day takes (86400 in production), the moment that is the same on both clocks, and days skipped by hand.
    day_seconds integer not null constraint subscription_day_range check (day_seconds between 1 and 86400),
    clock_origin timestamptz not null,
    advanced_days integer not null default 0 constraint subscription_advanced_range check (advanced_days >= 0),
    due_at timestamptz,
    -- The invoice that the subscriber's own page opened last. Strangers who type his address on the link's page open others.
    opened_invoice uuid,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
-- One per subscriber and link. Who subscribes again after the end gets another one, so that the history of the first stays.
create unique index subscription_once on subscription (link_id, email) where state in ('pending', 'active', 'past_due');
create index subscription_due on subscription (due_at) where due_at is not null;
create index subscription_by_created on subscription (merchant_id, created_at, id) where state <> 'pending';

-- Reminders that were written: the key lets each day of a renewal be told once. The token in a reminder's renewal_url opens the
-- subscriber's page; only its SHA-256 is kept here.
create table subscription_reminder (
    subscription_id uuid not null references subscription (id),
    cycle integer not null constraint subscription_reminder_cycle_range check (cycle > 1),
    day_offset smallint not null constraint subscription_reminder_day_range check (day_offset between -3 and 3),
    token_hash bytea not null constraint subscription_reminder_token_unique unique
        constraint subscription_reminder_token_length check (octet_length(token_hash) = 32),
    event_id text not null constraint subscription_reminder_event_unique unique,
    created_at timestamptz not null default now(),
    constraint subscription_reminder_pkey primary key (subscription_id, cycle, day_offset)
);

alter table invoice add column subscription_id uuid;

insert into role_grant (role, what)
values
    ('gateway_api', 'insert, update on subscription'),
    -- An operator who accepts a deposit may complete a cycle.
    ('gateway_dashboard', 'update on subscription'),
    ('gateway_worker', 'update on subscription'),
    ('gateway_worker', 'insert, delete on subscription_reminder');

select grant_roles();
