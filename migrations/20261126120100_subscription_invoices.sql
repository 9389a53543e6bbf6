-- By itself, so that only creations wait while the whole table is read, and no reader.
create index invoice_by_subscription on invoice (subscription_id, created_at, id) where subscription_id is not null;
