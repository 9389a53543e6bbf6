-- When the block of a payment that was not booked left the chain, so that the buyer's page can tell a payment that waits for another
-- block from one that was never in any. Of no meaning while it is in a block again. Programs of the earlier release leave it null.
alter table deposit add column left_block_at timestamptz;
