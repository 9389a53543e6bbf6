-- Mails to buyers: receipts, and reminders of renewals. A row is written with the change that causes it; the role mail-delivery sends
-- it. Retries are due times of rows, as the pauses grow from a minute to hours and a queue has one.
create table mail (
    id uuid primary key,
    kind text not null constraint mail_kind_known check (kind in ('receipt', 'reminder')),
    -- What it is about: an invoice, or one day of a renewal.
    subject uuid not null,
    -- SHA-256 of the address, which outlives the address itself.
    recipient bytea not null constraint mail_recipient_length check (octet_length(recipient) = 32),
    merchant_id uuid not null references merchant (id),
    link_id uuid not null references link (id),
    subscription_id uuid references subscription (id),
    -- Of a reminder: the cycle to be paid.
    renewal_cycle integer constraint mail_renewal_cycle_range check (renewal_cycle > 1),
    language text not null constraint mail_language_known check (language in ('en', 'de', 'ar')),
    -- Address and contents (JSON text) are deleted once the mail was sent or dropped.
    address text,
    contents text,
    state text not null default 'pending' constraint mail_state_known
        check (state in ('pending', 'retry_wait', 'delivered', 'dropped', 'dead')),
    cycle integer not null default 1 constraint mail_cycle_positive check (cycle > 0),
    attempts smallint not null default 0 constraint mail_attempts_range check (attempts >= 0),
    -- The next attempt; while its message is on its way, the time at which that counts as lost.
    next_attempt_at timestamptz,
    -- An attempt is under way until then, or its process has died.
    leased_until timestamptz,
    expires_at timestamptz not null,
    -- The budgets of its address and its link have counted it.
    is_counted boolean not null default false,
    last_code smallint,
    last_error text,
    dead_since timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    -- One mail per event and recipient.
    constraint mail_once unique (kind, subject, recipient)
);
create index mail_due on mail (next_attempt_at) where state in ('pending', 'retry_wait');
create index mail_dead on mail (dead_since) where state = 'dead';
create index mail_by_age on mail (created_at);

-- The words of servers are not kept: they repeat addresses.
create table mail_attempt (
    mail_id uuid not null references mail (id) on delete cascade,
    cycle integer not null,
    attempt smallint not null,
    started_at timestamptz not null,
    duration_ms integer not null,
    code smallint,
    error text,
    constraint mail_attempt_pkey primary key (mail_id, cycle, attempt)
);

-- Mails of a day, by address (a: and its hash) and by link (l: and its id).
create table mail_budget (
    scope text not null,
    day date not null,
    used integer not null constraint mail_budget_used_positive check (used > 0),
    constraint mail_budget_pkey primary key (scope, day)
);
create index mail_budget_by_age on mail_budget (day);

-- Addresses that a server refused for good, by the hash of the address.
create table mail_bounce (
    recipient bytea primary key,
    bounces integer not null constraint mail_bounce_positive check (bounces > 0),
    bounced_at timestamptz not null default now()
);
create index mail_bounce_by_age on mail_bounce (bounced_at);

-- Tokens in reminders by which a subscriber stops them; only their SHA-256 is kept here.
create table mail_unsubscribe (
    token_hash bytea not null constraint mail_unsubscribe_pkey primary key
        constraint mail_unsubscribe_length check (octet_length(token_hash) = 32),
    subscription_id uuid not null references subscription (id),
    created_at timestamptz not null default now()
);
create index mail_unsubscribe_by_age on mail_unsubscribe (created_at);

-- The language of the page on which an address was entered.
alter table invoice
    add column language text,
    -- Not read through, as no row has one yet.
    add constraint invoice_language_known check (language in ('en', 'de', 'ar')) not valid;
alter table subscription
    add column language text constraint subscription_language_known check (language in ('en', 'de', 'ar')),
    -- Its subscriber wants no reminders by mail. Webhooks go on.
    add column unsubscribed_at timestamptz;

insert into role_grant (role, what)
values
    -- Whichever program finishes an invoice writes its receipt. The API finishes none: its password must not send mails.
    ('gateway_dashboard', 'insert on mail'),
    ('gateway_worker', 'insert, update, delete on mail, mail_budget, mail_bounce, mail_unsubscribe'),
    ('gateway_worker', 'insert, delete on mail_attempt');

select grant_roles();
