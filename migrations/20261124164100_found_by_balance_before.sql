-- The deposits that were found by balance before the column was there. In a step of its own: it locks these rows alone, while
-- the step before it locked the table.
update deposit set found_by_balance = true where deposit_key like '%@%' and not found_by_balance;
