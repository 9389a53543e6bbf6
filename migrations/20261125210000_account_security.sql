-- Passkeys, invitations for one role each, devices that keep a budget of their own, and teams that never lose their last owner.

-- An invitation accepts the role that it was made for and no other: whoever holds one of two links must not get both roles. Null in the
-- link that opens an account again after an operator has reset it.
alter table account_link add column membership_id uuid references membership (id) on delete cascade;
-- The account that invited; null for operators at the command line. Its own role must hold until the invitation is accepted.
alter table membership add column invited_by uuid references account (id);
-- A secret of codes that was shown counts for a quarter of an hour.
alter table account add column totp_pending_at timestamptz;

alter table account_session
    drop constraint account_session_opened_by,
    add constraint account_session_opened_by check (opened_by in ('password', 'link', 'invitation', 'passkey')),
    -- The second factor that completed it.
    add column factor text constraint account_session_factor check (factor in ('code', 'recovery', 'passkey'));

create table passkey (
    id uuid primary key,
    account_id uuid not null references account (id),
    credential_id bytea not null constraint passkey_credential_unique unique
        constraint passkey_credential_length check (octet_length(credential_id) between 16 and 1023),
    -- The two coordinates of a point of P-256.
    public_key bytea not null constraint passkey_key_length check (octet_length(public_key) = 64),
    sign_count bigint not null constraint passkey_sign_count_range check (sign_count between 0 and 4294967295),
    name text not null constraint passkey_name_length check (char_length(name) between 1 and 60),
    created_at timestamptz not null default clock_timestamp(),
    used_at timestamptz
);
create index passkey_by_account on passkey (account_id, id);

-- Challenges that were answered. They are authenticated and carry their time, so one that nobody answers needs no row.
create table passkey_challenge (
    challenge_sha256 bytea primary key,
    used_at timestamptz not null default clock_timestamp()
);
create index passkey_challenge_by_time on passkey_challenge (used_at);

-- Browsers in which an account signed in wholly. Their guesses count apart, so that strangers cannot use up an owner's.
create table account_device (
    token_sha256 bytea primary key,
    account_id uuid not null references account (id),
    seen_at timestamptz not null default clock_timestamp()
);
create index account_device_by_account on account_device (account_id, seen_at);

-- The step of each code that is used is no change that a reader of the audit log looks for.
drop trigger account_audited on account;
create trigger account_audited
    after insert or update of email, password_hash, totp_sealed, disabled_at on account for each row
    when (audited_operator() is not null) execute function audit_row('email', 'email', 'disabled_at');

-- The last owner of a merchant, and the last administrator among operators, is neither removed nor given a lesser role. Changes of one
-- team wait for one another, so that two owners who remove each other at once leave one.
create function keep_last_owner() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' and new.role = old.role and new.accepted_at is not null
        and new.merchant_id is not distinct from old.merchant_id and new.account_id = old.account_id then
        return new;
    end if;
    perform pg_advisory_xact_lock(hashtextextended('gateway:team:' || coalesce(old.merchant_id::text, 'operators'), 0));
    if not exists (
        select from membership m
        join account a on a.id = m.account_id
        where m.merchant_id is not distinct from old.merchant_id and m.role = old.role and m.id <> old.id
            and m.accepted_at is not null and a.disabled_at is null
    ) then
        raise exception 'the last % of a team stays', old.role
            using errcode = 'check_violation', constraint = 'membership_last_owner';
    end if;
    return case when tg_op = 'DELETE' then old else new end;
end $$;
create trigger membership_keeps_last_owner
    before update of role, merchant_id, account_id, accepted_at or delete on membership for each row
    when (old.accepted_at is not null and old.role in ('owner', 'operator-admin')) execute function keep_last_owner();

-- A suspended merchant's people sign in again, and then read.
create function end_sessions_of_suspended() returns trigger language plpgsql as $$
begin
    update account_session s
    set ended_at = clock_timestamp()
    from membership m
    where m.merchant_id = new.id and m.account_id = s.account_id and s.ended_at is null;
    return null;
end $$;
create trigger merchant_ends_sessions after update of suspended_at on merchant for each row
    when (old.suspended_at is null and new.suspended_at is not null) execute function end_sessions_of_suspended();

insert into role_grant (role, what)
values ('gateway_dashboard', 'insert, update, delete on passkey, passkey_challenge, account_device');

-- Where tables that open the dashboard are kept from other programs' roles, these are among them.
do $$
begin
    if to_regclass('private_table') is not null then
        insert into private_table (name) values ('passkey'), ('passkey_challenge'), ('account_device') on conflict do nothing;
    end if;
end $$;

select grant_roles();
