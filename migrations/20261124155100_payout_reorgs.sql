-- Payments whose block a reorg replaced after they had ended: deeper than the confirmations that were asked for. Their end is taken
-- back, the same bytes are sent again, and the end that they have then is booked and told anew.

alter table payout_payment
    -- Set by the chain's watcher; the payer takes the end back and clears it.
    add column reorged_at timestamptz,
    -- The source of its ledger entries since its last end was taken back; its own id before that.
    add column booked_as uuid;
create index payout_payment_by_height on payout_payment (network, height) where state in ('confirmed', 'failed');
create index payout_payment_reorged on payout_payment (order_id) where reorged_at is not null;

-- The subject of its events since its end was taken back; its own id before that.
alter table payout_batch add column told_as uuid;

-- A paid row may wait for its payment again: for the same payment, and never for another one.
drop trigger payout_item_paid_once on payout_item;
create trigger payout_item_paid_once before update on payout_item
    for each row when (old.payment_id is not null and new.payment_id is distinct from old.payment_id
                       or old.state = 'failed' and new.state <> old.state
                       or old.state = 'confirmed' and new.state not in ('confirmed', 'sent'))
    execute function payout_refuse_second_payment();

-- Payouts that merchants sign: the same, without books.
alter table nc_payout_transaction add column height bigint;
create index nc_payout_transaction_by_height on nc_payout_transaction (network, height) where height is not null;
drop trigger nc_payout_terminal_is_terminal on nc_payout;
create trigger nc_payout_terminal_is_terminal before update of state on nc_payout
    for each row when (old.state in ('completed', 'partial_failed', 'failed', 'expired', 'cancelled') and new.state <> old.state
                       and not (old.state in ('completed', 'partial_failed', 'failed') and new.state = 'confirming'))
    execute function nc_payout_refuse_resurrection();
drop trigger nc_payout_signed_is_signed on nc_payout_transaction;
create trigger nc_payout_signed_is_signed before update on nc_payout_transaction
    for each row when (old.raw is not null and (new.raw, new.unsigned, new.tx_hash, new.nonce, new.sender, new.network)
                           is distinct from (old.raw, old.unsigned, old.tx_hash, old.nonce, old.sender, old.network)
                       or old.state in ('confirmed', 'failed') and new.state not in (old.state, 'sent'))
    execute function nc_payout_refuse_edit();

-- The confirmations that a payout needs, as its worth was when it was submitted. Null before that, and in payouts that an earlier
-- release took: those need the usual ones.
alter table nc_payout add column required_confirmations bigint
    constraint nc_payout_required_confirmations check (required_confirmations > 0);

insert into role_grant (role, what)
values
    ('gateway_worker', 'update (reorged_at) on payout_payment'),
    ('gateway_dashboard', 'update (reorged_at) on payout_payment');

select grant_roles();
