-- The balance of a merchant is summed from the books by index alone: a row with running sums would be locked by every deposit of
-- the merchant. The other side of a deposit or payout is a custody account, which nobody sums by merchant, so it is left out.
--
-- Bookings wait while these are built, some seconds for ten million entries; then their messages are worked on as before. Readers
-- go on.
create index ledger_entry_by_credit on ledger_entry (credit, asset) include (amount) where credit not like 'custody:%';
create index ledger_entry_by_debit on ledger_entry (debit, asset) include (amount) where debit not like 'custody:%';
