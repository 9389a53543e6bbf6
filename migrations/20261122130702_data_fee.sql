-- What rollups take for the bytes of a payment, beside its work, in base units of the network's coin: an upper bound.
-- A constant default rewrites nothing.
alter table network_fee add column data_fee numeric(39, 0) not null default 0
    constraint network_fee_data_fee check (data_fee >= 0 and data_fee <> 'NaN');
