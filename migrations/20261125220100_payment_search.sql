-- Finding payments in the dashboard: by any filter, by amount, by a subscriber's e-mail address.
--
-- One index serves every combination of currency, network and status: a page is merged from one short run for each pair of currency
-- and status, of which there are some hundreds at most.
--
-- Invoices wait while these are built, some seconds for a million; then they are created as before. Readers go on.
create index invoice_by_filter on invoice (merchant_id, token_id, status, created_at, id) where token_id is not null;
create index invoice_by_price on invoice (merchant_id, price_amount, created_at);
create index invoice_by_pay_amount on invoice (merchant_id, pay_amount, created_at) where pay_amount is not null;
create index invoice_by_email on invoice (merchant_id, lower(subscriber_email), created_at) where subscriber_email is not null;

-- Webhooks of one merchant that are under way. A delivery leaves this index with its end.
create index delivery_open_by_merchant on delivery (merchant_id, created_at, id) where state in ('pending', 'retry_wait');

-- The statement of a merchant's accounts, entry by entry. The other side of a deposit or payout is a custody account.
create index ledger_entry_of_credit on ledger_entry (credit, asset, id) where credit not like 'custody:%';
create index ledger_entry_of_debit on ledger_entry (debit, asset, id) where debit not like 'custody:%';

-- A payment that is created by hand is created once, whatever the browser repeats.
insert into role_grant (role, what) values ('gateway_dashboard', 'insert, update, delete on idempotency')
on conflict do nothing;

select grant_roles();
