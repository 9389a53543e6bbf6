-- The gas wallet that gas went back to: another one after the accounts are split. What an older wallet got back says nothing of the
-- balance of the present one. Returns from before this column went to the wallet that their order's gas came from.
alter table payout_payment add column returned_to text;
update payout_payment r
set returned_to = (select g.sender from payout_payment g
                   where g.order_id = r.order_id and g.purpose = 'gas' order by g.created_at desc, g.id desc limit 1)
where r.purpose = 'gas_return';
alter table payout_payment add constraint payout_payment_returned_to check (returned_to is null or purpose = 'gas_return');

drop index payout_payment_gas_return;
create index payout_payment_gas_return on payout_payment (network, returned_to) where purpose = 'gas_return';
