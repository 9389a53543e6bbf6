-- no-transaction
-- Settlements of a payer that are on their way or stand in a block without a movement: what they may cost is counted before it is final.
create index concurrently x402_settlement_unanswered on x402_settlement (network, asset, payer) where state = 'submitted' and answered_hash is null;
