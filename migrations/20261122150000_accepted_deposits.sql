-- What comes back after it was taken out of the books is another deposit with books of its own, once a person has accepted it.
-- The row of the first stays as it ended; its key, which its chain gives to one movement, goes over to the second.
alter table deposit
    -- The deposit whose place this one takes.
    add column replaces uuid references deposit (id)
        constraint deposit_replaced_once unique,
    -- It left the chain when what was received had been decided already, so that sum still holds it.
    add column still_counted boolean not null default false;

-- Of what was taken out before this was noted, the sums tell: an order's never shrink, and an invoice's are larger than what is left.
update deposit d
set still_counted = true
where d.state = 'reversed' and d.booked_as in ('credit', 'late')
  and (d.payout_order_id is not null
       or (select i.received from invoice i where i.id = d.invoice_id)
          >= d.amount + (select coalesce(sum(s.amount), 0) from deposit s
                         where s.invoice_id = d.invoice_id and s.state = 'settled' and s.booked_as in ('credit', 'late')));
