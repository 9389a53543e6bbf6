-- Why nothing was signed for an order when it was last tried, although nobody holds it: for people. What it waits for passes by
-- itself, and the next signature clears it.
alter table payout_order add column waits_for text;
