-- Deposits of a payout order that are on their way or wait to be booked, however many were booked before.
create index deposit_payout_unsettled on deposit (payout_order_id, first_seen_at, id)
    where payout_order_id is not null and state in ('seen', 'final');
