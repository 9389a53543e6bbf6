-- Figures for the first page of the dashboard, hour by hour: deposits that were credited, and events of invoices.
--
-- Sums over a month of deposits cost more with every payment. A running sum in one row would be locked by every deposit of its
-- merchant. So the sweeper sums each hour once, after its end, and readers add the hours since then from the rows themselves.
-- A booking is never moved to another hour; the rare ones that were reversed are subtracted by readers.
create table merchant_hour_taking (
    merchant_id uuid not null references merchant (id),
    hour timestamptz not null,
    token_id text not null,
    -- The fiat currency of the value; empty where no rate was known.
    fiat text not null,
    units numeric not null,
    value numeric not null,
    primary key (merchant_id, hour, token_id, fiat)
);
create index merchant_hour_taking_by_age on merchant_hour_taking (hour);

create table merchant_hour_event (
    merchant_id uuid not null references merchant (id),
    hour timestamptz not null,
    type text not null,
    events bigint not null,
    primary key (merchant_id, hour, type)
);
create index merchant_hour_event_by_age on merchant_hour_event (hour);

-- Every hour before this moment is summed. The one row is the lock of those who sum.
create table merchant_hours_summed (
    one boolean primary key default true constraint merchant_hours_summed_once check (one),
    through timestamptz not null
);
insert into merchant_hours_summed (through) values (date_trunc('hour', now()) - interval '70 days');

-- Bookings wait while these are built, some seconds for ten million deposits; then they go on. Readers go on.
create index deposit_credited_by_time on deposit (settled_at) where booked_as = 'credit' and invoice_id is not null;
create index deposit_odd_by_time on deposit (settled_at) where booked_as in ('late', 'foreign') and invoice_id is not null;
create index deposit_reversed_by_time on deposit (settled_at) where state = 'reversed' and invoice_id is not null;

insert into role_grant (role, what)
values
    ('gateway_worker', 'select, insert, update, delete on merchant_hour_taking, merchant_hour_event'),
    ('gateway_worker', 'select, update on merchant_hours_summed'),
    -- Operators start the sums anew after they wrote rows of the past.
    ('gateway_dashboard', 'select, delete on merchant_hour_taking, merchant_hour_event'),
    ('gateway_dashboard', 'select, update on merchant_hours_summed');

select grant_roles();
