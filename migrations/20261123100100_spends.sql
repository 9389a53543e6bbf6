-- What a deposit's transaction spends (txid:vout) where transactions spend outputs, so that a replacement is known as one.
alter table deposit add column spends text[];
