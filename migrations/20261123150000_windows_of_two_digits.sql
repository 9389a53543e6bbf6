-- `time_limit` is HH:MM:SS, so a window lasts 99:59:59 at most. Programs of the last release may
-- still store more; this one reads no more than that. Open invoices keep the deadline that their
-- buyers were given.
update merchant
set payment_window_seconds = least(payment_window_seconds, 359999),
    selection_window_seconds = least(selection_window_seconds, 359999)
where payment_window_seconds > 359999 or selection_window_seconds > 359999;
