-- no-transaction
-- Settlements of a payer that were reverted at our expense: after some within an hour his next ones are refused.
create index concurrently x402_settlement_reverted on x402_settlement (network, asset, payer, ended_at) where state = 'failed' and fee is not null;
