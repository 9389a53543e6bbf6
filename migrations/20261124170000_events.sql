-- The feed of a merchant's events (GET /v1/events): what happened to his invoices and payouts, with a webhook or without.
--
-- An event is written in the transaction of its cause, without a place in the feed: neither ids nor times are in the order of
-- commits, so a reader who follows them can miss the event of a transaction that took longer. The first reader who finds events
-- without a position gives them one, under the lock of event_feed. What has a position is committed, so a cursor never skips.
--
-- The feed begins with this table: older deliveries are not copied into it, which would hold every merchant's row for as long as
-- millions of rows take.
create table event (
    event_id text primary key,
    merchant_id uuid not null references merchant (id),
    type text not null,
    -- The payment or the payout order, by its public id.
    resource_id text not null,
    -- The deposit behind a notice, and the subject of a payout's event: makes one event of each. Null where the lifecycle
    -- of an invoice alone makes it one.
    subject uuid,
    -- The delivery that sends it; it holds the payload too. Rows of both are deleted at different times, so this is no foreign key.
    delivery_id uuid,
    payload text,
    created_at timestamptz not null default clock_timestamp(),
    position bigint constraint event_position_positive check (position > 0),
    constraint event_payload_once check (num_nonnulls(delivery_id, payload) = 1)
);
create unique index event_position on event (merchant_id, position) where position is not null;
create index event_position_by_type on event (merchant_id, type, position) where position is not null;
create index event_unplaced on event (merchant_id, created_at, event_id) where position is null;
create unique index event_once on event (resource_id, type, subject) where subject is not null;
create index event_by_age on event (created_at);

-- The last position that was given to an event of each merchant. Its row is the lock of all who give positions.
create table event_feed (
    merchant_id uuid primary key references merchant (id),
    last_position bigint not null constraint event_feed_range check (last_position >= 0)
);

insert into role_grant (role, what)
values
    ('gateway_api', 'insert on event'),
    ('gateway_api', 'update (position) on event'),
    ('gateway_api', 'insert, update on event_feed'),
    -- The sweeper deletes, and locks what it deletes.
    ('gateway_worker', 'insert, update, delete on event'),
    ('gateway_payer', 'insert on event'),
    ('gateway_dashboard', 'insert on event'),
    ('gateway_dashboard', 'update (position) on event'),
    ('gateway_dashboard', 'insert, update on event_feed');

select grant_roles();
