-- When the last look began that reached the head. Until now that was watched_through, which is now the moment up to which
-- every payment is known: on networks that are read late, the date of the newest block that was read.
alter table chain_cursor add column looked_at timestamptz;
