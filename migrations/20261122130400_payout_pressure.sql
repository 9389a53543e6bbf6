-- What operators are told of payouts at every scrape, however many orders have ended.

create index payout_order_at_work on payout_order (funded_at) where state in ('funded', 'processing');
create index payout_order_held on payout_order (held_at) where held_at is not null;
create index payout_payment_open on payout_payment (created_at) where state in ('signed', 'sent');
