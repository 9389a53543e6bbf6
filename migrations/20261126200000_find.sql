-- `gatewayctl find`: who was paid at an address, which payout a transaction belongs to, and the subscriptions of an e-mail address.
-- Invoices and deposits have the indices of the dashboard's search already; an order id is looked for in the index of each merchant,
-- so that invoices get no further one. Ids of orders and payouts begin with their time (UUIDv7), so the newest are read first.
--
-- Rows of payouts wait while these are built, some seconds for a million recipients; then they are written as before. Readers go on.
create index payout_item_by_address on payout_item (address, order_id);
create index nc_payout_output_by_address on nc_payout_output (address, payout_id);
create index nc_payout_transaction_by_hash on nc_payout_transaction (tx_hash) where tx_hash is not null;
create index subscription_by_email on subscription (lower(email), id);
