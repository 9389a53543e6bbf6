-- Payouts on bitcoin, litecoin and dogecoin: what is spent, what returns, and where a payment was looked for.
--
-- An output is spent by one payment, whatever code does; and every version of a payment spends all that the payment
-- spends, so no two of them can ever both confirm.

create table payout_input (
    network text not null,
    -- txid:n, as `deposit.deposit_key` names it.
    outpoint text not null constraint payout_input_outpoint_form check (outpoint ~ '^[0-9a-f]{64}:[0-9]{1,9}$'),
    payment_id uuid not null references payout_payment (id),
    amount numeric(39, 0) not null constraint payout_input_amount check (amount > 0 and amount <> 'NaN'),
    constraint payout_input_once primary key (network, outpoint)
);
create index payout_input_by_payment on payout_input (payment_id);
create trigger payout_input_is_for_ever before update or delete on payout_input
    for each row execute function payout_refuse_edit();

-- What a version takes for the network and what it returns to its order's address, as output `change_n`.
alter table payout_version add column fee numeric(39, 0);
alter table payout_version add column change_n integer;
alter table payout_version add column change_amount numeric(39, 0);
alter table payout_version add constraint payout_version_change check ((change_n is null) = (change_amount is null));

-- Bytes in the order in which transactions hold them: texts write hashes and numbers backwards.
create function payout_reversed(digits text) returns bytea language sql immutable strict as $$
    select decode(string_agg(substr(digits, 2 * n - 1, 2), '' order by n desc), 'hex')
    from generate_series(1, length(digits) / 2) as n
$$;

create function payout_refuse_other_inputs() returns trigger language plpgsql as $$
begin
    if exists (
        select from payout_input i
        where i.payment_id = new.payment_id
          and position(payout_reversed(split_part(i.outpoint, ':', 1))
                       || payout_reversed(lpad(to_hex(split_part(i.outpoint, ':', 2)::int), 8, '0')) in new.raw) = 0
    ) then
        raise exception 'version % of payment % does not spend what the payment spends', new.version, new.payment_id
            using errcode = 'check_violation', constraint = 'payout_version_spends_its_inputs';
    end if;
    return null;
end $$;
create constraint trigger payout_version_spends_its_inputs after insert on payout_version
    for each row execute function payout_refuse_other_inputs();

-- How far the blocks were searched for a payment: a node without an index finds a transaction by reading blocks.
create table payout_search (
    payment_id uuid primary key references payout_payment (id),
    -- Every block up to here was read; `hash` is this block's, unknown before the first look.
    height bigint not null,
    hash text,
    -- The version that this very block holds.
    found text,
    -- Since this height something that it spends is gone, and no block holds it.
    missing_since bigint
);

-- A payment to nobody that pulls another one along: it spends its change and pays for both.
alter table payout_payment drop constraint payout_payment_purpose_known;
alter table payout_payment add constraint payout_payment_purpose_known check (purpose in ('pay', 'refund', 'gas', 'gas_return', 'bump'));
