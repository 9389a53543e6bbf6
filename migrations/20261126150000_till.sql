-- Tills: links of type pos, and the devices that are enrolled on them.

-- The IANA name of the time zone in which a till's day begins; null is UTC.
alter table link add column time_zone text constraint link_time_zone_length check (char_length(time_zone) between 1 and 64);

-- A keyed digest of the PIN of a till whose merchant sets one for all devices; null where each device chooses its own.
alter table link add column pin_digest bytea constraint link_pin_digest_length check (octet_length(pin_digest) = 32);

create table till_device (
    id uuid primary key,
    -- The public id, pzd_ and 130 random bits.
    device_id text not null constraint till_device_id_unique unique,
    merchant_id uuid not null references merchant (id),
    link_id uuid not null references link (id),
    name text not null constraint till_device_name_length check (char_length(name) between 1 and 60),
    -- The one-time code, until it is used. Null from then on.
    code_hash bytea constraint till_device_code_unique unique
        constraint till_device_code_length check (octet_length(code_hash) = 32),
    code_expires_at timestamptz not null,
    -- Set together when the code is used: the SHA-256 of the token that the device keeps, and argon2id of its PIN with that token,
    -- without which a stolen hash is of no use.
    token_hash bytea constraint till_device_token_unique unique
        constraint till_device_token_length check (octet_length(token_hash) = 32),
    pin_hash text,
    enrolled_at timestamptz,
    constraint till_device_enrolled_whole check (
        num_nonnulls(token_hash, pin_hash, enrolled_at) in (0, 3) and (code_hash is null or enrolled_at is null)
    ),
    -- Tries of the PIN since the last right one, and the time before which none is looked at.
    pin_tries integer not null default 0 constraint till_device_tries_range check (pin_tries >= 0),
    pin_next_at timestamptz,
    -- While it is unlocked: the SHA-256 of the session's id.
    session_hash bytea constraint till_device_session_length check (octet_length(session_hash) = 32),
    session_ends_at timestamptz,
    -- The charge that it shows, until the cashier turns to the next customer.
    shown_invoice uuid,
    seen_at timestamptz,
    revoked_at timestamptz,
    created_at timestamptz not null default now()
);
create index till_device_by_link on till_device (link_id, created_at, id);
-- Codes that nobody used are forgotten.
create index till_device_unused on till_device (code_expires_at) where enrolled_at is null;

-- Charges by the device and the key of the form that made each: the same form makes one, for ever.
create table till_charge (
    device_id uuid not null references till_device (id),
    key uuid not null,
    invoice_id uuid not null references invoice (id) constraint till_charge_invoice_unique unique,
    created_at timestamptz not null default now(),
    constraint till_charge_pkey primary key (device_id, key)
);

-- The dashboard's list of subscriptions in one state.
create index subscription_by_state on subscription (merchant_id, state, created_at, id) where state <> 'pending';

insert into role_grant (role, what)
values
    ('gateway_api', 'insert, update on till_device'),
    ('gateway_api', 'insert on till_charge'),
    ('gateway_dashboard', 'insert, update on till_device'),
    ('gateway_worker', 'update, delete on till_device');

select grant_roles();
