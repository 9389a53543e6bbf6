-- How many invoices a merchant's list has. Every page says it (spec, GET /v1/payment), and counting them for each page would
-- cost more with every invoice ever made.
create table merchant_invoices (
    merchant_id uuid primary key references merchant on delete cascade,
    listed bigint not null
) with (fillfactor = 50);

create function invoice_count_made() returns trigger language plpgsql as $$
begin
    insert into merchant_invoices as counted (merchant_id, listed)
    select merchant_id, count(*) from made where token_id is not null group by merchant_id order by merchant_id
    on conflict (merchant_id) do update set listed = counted.listed + excluded.listed;
    return null;
end $$;
create trigger invoice_made_is_counted after insert on invoice referencing new table as made for each statement
    execute function invoice_count_made();

-- A draft is listed once its buyer has chosen a currency.
create function invoice_count_chosen() returns trigger language plpgsql as $$
begin
    insert into merchant_invoices as counted (merchant_id, listed) values (new.merchant_id, 1)
    on conflict (merchant_id) do update set listed = counted.listed + excluded.listed;
    return null;
end $$;
create trigger invoice_chosen_is_counted after update of token_id on invoice for each row
    when (old.token_id is null and new.token_id is not null)
    execute function invoice_count_chosen();

-- The triggers hold the table until this commits, so that nothing is made in between.
insert into merchant_invoices (merchant_id, listed)
select merchant_id, count(*) from invoice where token_id is not null group by merchant_id;
