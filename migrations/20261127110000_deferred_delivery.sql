-- Webhooks of a burst that no process has a place for. They wait here, with no message, until those of the same merchant before them
-- have ended (src/app/delivery/in_flight.rs). A new table, because `delivery` is large and its rows are written often.
--
-- A row whose delivery was made meanwhile costs one message that changes nothing.
create table deferred_delivery (
    delivery_id uuid primary key references delivery on delete cascade,
    merchant_id uuid not null,
    -- A stranger chose the receiver: these have places apart from the merchant's own.
    is_strangers boolean not null,
    -- Where its message goes when there are places again.
    route text not null,
    -- The attempt that its message asked for. That is not always the row's next one: a dead letter that an operator
    -- requeued asks for the first attempt of the next cycle.
    cycle int not null,
    attempt smallint not null,
    deferred_at timestamptz not null default now()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
-- Ids are in the order of creation, so what was deferred again keeps its turn.
create index deferred_delivery_by_merchant on deferred_delivery (merchant_id, is_strangers, route, delivery_id);
create index deferred_delivery_by_time on deferred_delivery (deferred_at);

insert into role_grant (role, what) values ('gateway_worker', 'insert, update, delete on deferred_delivery');

select grant_roles();
