-- What is paid is bound when it is confirmed: a keyed digest over the order's recipients, sums and addresses, made with a key
-- that is not in this database (src/payout/binding.rs) and checked before each signature. Null in orders that a release
-- before this one confirmed: they are held until an operator accepts them.
alter table payout_order add column digest bytea;
alter table payout_order add constraint payout_order_digest_length check (octet_length(digest) = 32) not valid;

-- Beside the digest, and without its key: columns that no statement of ours ever moves are refused by the database itself.

create function payout_refuse_change() returns trigger language plpgsql as $$
begin
    raise exception '% % stays as it was confirmed', tg_table_name, old.id
        using errcode = 'check_violation', constraint = tg_argv[0];
end $$;

create trigger payout_item_is_confirmed before update on payout_item
    for each row when (
        (old.id, old.item_id, old.order_id, old.batch_id, old.row_number, old.address, old.amount)
            is distinct from (new.id, new.item_id, new.order_id, new.batch_id, new.row_number, new.address, new.amount)
        or old.reference is distinct from new.reference
        or old.memo is distinct from new.memo
        -- A new quote changes what a row gets only while nothing is signed for it.
        or old.payment_id is not null and old.net_amount <> new.net_amount)
    execute function payout_refuse_change('payout_item_is_confirmed');
create trigger payout_item_is_kept before delete on payout_item
    for each row execute function payout_refuse_change('payout_item_is_confirmed');

create function payout_refuse_new_rows() returns trigger language plpgsql as $$
begin
    if exists (select from made m join payout_order o on o.id = m.order_id where o.state <> 'draft') then
        raise exception 'a confirmed order takes no further rows'
            using errcode = 'check_violation', constraint = 'payout_item_is_confirmed';
    end if;
    return null;
end $$;
create trigger payout_item_comes_with_its_draft after insert on payout_item referencing new table as made
    for each statement execute function payout_refuse_new_rows();

create trigger payout_order_is_confirmed before update on payout_order
    for each row when (
        (old.id, old.order_id, old.merchant_id, old.family, old.token_id, old.network, old.fee_mode, old.item_count,
         old.batch_count, old.payout_total)
            is distinct from (new.id, new.order_id, new.merchant_id, new.family, new.token_id, new.network, new.fee_mode,
                              new.item_count, new.batch_count, new.payout_total)
        or old.deposit_address is not null
            and (new.deposit_address is distinct from old.deposit_address
                 or new.derivation_index is distinct from old.derivation_index)
        or old.refund_address is not null and new.refund_address is distinct from old.refund_address
        or old.digest is not null and new.digest is null)
    execute function payout_refuse_change('payout_order_is_confirmed');
create trigger payout_order_is_kept before delete on payout_order
    for each row execute function payout_refuse_change('payout_order_is_confirmed');

create trigger payout_payment_is_signed before update on payout_payment
    for each row when (
        (old.id, old.order_id, old.purpose, old.network, old.sender, old.nonce, old.amount, old.value_usd)
            is distinct from (new.id, new.order_id, new.purpose, new.network, new.sender, new.nonce, new.amount, new.value_usd))
    execute function payout_refuse_change('payout_payment_is_signed');
create trigger payout_payment_is_kept before delete on payout_payment
    for each row execute function payout_refuse_change('payout_payment_is_signed');
