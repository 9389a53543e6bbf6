-- Many recipients of a token are paid by one transaction of a contract, to which the order's address gives an allowance first.
alter table payout_payment drop constraint payout_payment_purpose_known;
alter table payout_payment add constraint payout_payment_purpose_known
    check (purpose in ('pay', 'refund', 'gas', 'gas_return', 'bump', 'allowance'));
-- One is enough for an order, and tokens of USDT's kind take no second beside it.
create unique index payout_allowance_once on payout_payment (order_id) where purpose = 'allowance';

-- Rows of a transaction that failed, and so paid none of them, wait for another one. In every other case a row keeps its payment.
create or replace function payout_refuse_second_payment() returns trigger language plpgsql as $$
begin
    if new.payment_id is null and old.state in ('pending', 'sent') and new.state = 'pending'
       and exists (select from payout_payment where id = old.payment_id and state = 'failed') then
        return new;
    end if;
    raise exception 'payout row % has its payment', old.item_id
        using errcode = 'check_violation', constraint = 'payout_item_paid_once';
end $$;

-- A person may end such a transaction too.
insert into role_grant (role, what) values ('gateway_dashboard', 'update (payment_id) on payout_item');

select grant_roles();
