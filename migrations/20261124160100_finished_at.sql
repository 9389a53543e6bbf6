-- no-transaction
-- The finished event is written in the transaction that finishes its invoice, so its time is the invoice's. Invoices without an
-- address for events get no row: nothing tells when they were paid.
--
-- In batches, each its own transaction, so that nothing waits for all of them. Killed and started again, it repeats what is done
-- without effect.
do $$
declare
    last uuid := '00000000-0000-0000-0000-000000000000';
    next uuid;
begin
    loop
        with batch as (
            select id, kind, channel, invoice_id, created_at
            from delivery
            where id > last
            order by id
            limit 10000
        ),
        told as (
            insert into invoice_finish (invoice_id, finished_at)
            select invoice_id, created_at
            from batch
            where kind = 'finished' and channel = 'ipn'
            on conflict (invoice_id) do nothing
        )
        select id into next from batch order by id desc limit 1;
        exit when next is null;
        last := next;
        commit;
    end loop;
end $$;
