-- `gatewayctl find`: who was paid at an address, and which payout a transaction belongs to. Invoices and deposits have the indices
-- of the dashboard's search already; an order id is looked for in the index of each merchant, so that invoices get no further one.
--
-- Rows of payouts wait while these are built, some seconds for a million recipients; then they are written as before. Readers go on.
create index payout_item_by_address on payout_item (address);
create index nc_payout_output_by_address on nc_payout_output (address);
create index nc_payout_transaction_by_hash on nc_payout_transaction (tx_hash) where tx_hash is not null;
