-- Settlements whose block a reorg replaced after they had ended: deeper than the confirmations that were asked for. Their end is taken
-- back, and the same bytes are sent again: the gas wallet's later nonces wait for this one. The end that they have then is booked anew.

alter table x402_settlement
    -- Set by the chain's watcher; the role takes the end back and clears it.
    add column reorged_at timestamptz,
    -- The source of its ledger entries since its last end was taken back; its own id before that.
    add column booked_as uuid;
create index x402_settlement_by_height on x402_settlement (network, height) where state in ('settled', 'failed') and height is not null;
create index x402_settlement_reorged on x402_settlement (network) where reorged_at is not null;

-- Only the watcher's evidence opens an end again, and for the same transaction: its nonce and its bytes stay.
drop trigger x402_settlement_ended_is_ended on x402_settlement;
create trigger x402_settlement_ended_is_ended before update of state on x402_settlement
    for each row when (old.state in ('settled', 'failed') and new.state <> old.state
                       and not (new.state = 'submitted' and old.height is not null and old.reorged_at is not null))
    execute function x402_refuse_resurrection();

insert into role_grant (role, what)
values
    ('gateway_worker', 'update (reorged_at) on x402_settlement'),
    ('gateway_payer', 'update (reorged_at, booked_as) on x402_settlement');

select grant_roles();
