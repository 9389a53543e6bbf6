-- Many recipients of a token are paid by one transaction of a contract, to which the order's address gives an allowance first.
alter table payout_payment drop constraint payout_payment_purpose_known;
alter table payout_payment add constraint payout_payment_purpose_known
    check (purpose in ('pay', 'refund', 'gas', 'gas_return', 'bump', 'allowance'));
-- One is enough for an order, and tokens of USDT's kind take no second beside it.
create unique index payout_allowance_once on payout_payment (order_id) where purpose = 'allowance';

-- Rows of a transaction that paid none of them wait for another one, also when a person ended it.
insert into role_grant (role, what) values ('gateway_dashboard', 'update (payment_id) on payout_item');

select grant_roles();
