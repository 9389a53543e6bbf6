-- Ended orders that have something to send back, and where to: at every scrape, however many have ended.
create index payout_order_refund_due on payout_order (updated_at)
    where finished_at is not null and credited + late > kept + reserved + paid + returned
      and refund_address is not null and held_at is null;
