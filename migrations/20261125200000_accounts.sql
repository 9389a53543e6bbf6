-- Accounts of the dashboard: people, their roles, their sessions. Everything that opens something is stored as a hash alone.

create table account (
    id uuid primary key,
    email text not null constraint account_email_unique unique
        constraint account_email_spelling check (email = lower(email) and char_length(email) between 3 and 254),
    -- PHC text of argon2id; null until the invitation is accepted.
    password_hash text,
    -- Sealed under the master key with this row's id. The pending one was shown and not yet confirmed by a code of its own.
    totp_sealed bytea,
    totp_pending_sealed bytea,
    -- The step of the last accepted code: RFC 6238 forbids a second use.
    totp_step bigint not null default 0,
    disabled_at timestamptz,
    created_at timestamptz not null default now()
);

create table membership (
    id uuid primary key,
    account_id uuid not null references account (id),
    -- Null for operators.
    merchant_id uuid references merchant (id),
    role text not null constraint membership_role_known check (role in
        ('operator-admin', 'operator-finance', 'operator-support', 'owner', 'developer', 'finance', 'viewer')),
    -- Null until its account has accepted the invitation.
    accepted_at timestamptz,
    created_at timestamptz not null default now(),
    constraint membership_role_fits check ((merchant_id is null) = (role like 'operator-%'))
);
create unique index membership_of_merchant on membership (account_id, merchant_id) where merchant_id is not null;
create unique index membership_of_operator on membership (account_id) where merchant_id is null;
create index membership_by_merchant on membership (merchant_id) where merchant_id is not null;

create table account_session (
    id_sha256 bytea primary key,
    -- Names the session to its account.
    handle uuid not null constraint account_session_handle unique,
    account_id uuid not null references account (id),
    -- The merchant whose screens it shows.
    merchant_id uuid references merchant (id),
    -- False while the second factor is missing.
    complete boolean not null,
    opened_by text not null constraint account_session_opened_by check (opened_by in ('password', 'link', 'invitation')),
    confirmed_at timestamptz,
    address text not null,
    agent text not null constraint account_session_agent_length check (char_length(agent) <= 200),
    opened_at timestamptz not null default clock_timestamp(),
    seen_at timestamptz not null default clock_timestamp(),
    ended_at timestamptz
);
create index account_session_by_account on account_session (account_id, opened_at);

create table account_link (
    token_sha256 bytea primary key,
    account_id uuid not null references account (id),
    kind text not null constraint account_link_kind_known check (kind in ('invitation', 'sign-in')),
    expires_at timestamptz not null,
    used_at timestamptz,
    created_at timestamptz not null default now()
);
create index account_link_by_account on account_link (account_id);

create table recovery_code (
    account_id uuid not null references account (id),
    code_sha256 bytea not null,
    used_at timestamptz,
    primary key (account_id, code_sha256)
);

-- Guesses of passwords and codes, over all copies of the program. Keys hold hashes of what was typed.
create table guess_budget (
    key text primary key,
    guesses integer not null,
    began_at timestamptz not null
);

-- Where a change was made from, beside its author; the dashboard names both for each statement.
alter table audit_entry
    add column address text default nullif(current_setting('gateway.operator_address', true), '');

create trigger account_audited after insert or update on account for each row
    when (audited_operator() is not null) execute function audit_row('email', 'email', 'disabled_at');
create trigger membership_audited after insert or update or delete on membership for each row
    when (audited_operator() is not null) execute function audit_row('account_id', 'merchant_id', 'role', 'accepted_at');

-- A change of roles, or an end of the account, ends its sessions in the same transaction.
create function end_sessions_of_account() returns trigger language plpgsql as $$
begin
    update account_session set ended_at = clock_timestamp()
    where account_id = coalesce(new.account_id, old.account_id) and ended_at is null;
    return null;
end $$;
create trigger membership_ends_sessions after update of role, merchant_id or delete on membership
    for each row execute function end_sessions_of_account();

create function end_sessions_of_disabled() returns trigger language plpgsql as $$
begin
    update account_session set ended_at = clock_timestamp() where account_id = new.id and ended_at is null;
    return null;
end $$;
create trigger account_ends_sessions after update of disabled_at on account
    for each row when (new.disabled_at is not null) execute function end_sessions_of_disabled();

insert into role_grant (role, what)
values
    ('gateway_dashboard', 'insert, update, delete on account, membership, account_session, account_link, recovery_code'),
    ('gateway_dashboard', 'insert, update, delete on guess_budget');

select grant_roles();
