-- A payout order gives back what a reorganisation took, as far as it has not been given away: the rest is still counted.
alter table deposit
    -- With `still_counted`, of a payout order's: how much of it. Null where that is all of it.
    add column counted_units numeric(39, 0)
        constraint deposit_counted_is_a_part check (counted_units > 0 and counted_units <= amount);
