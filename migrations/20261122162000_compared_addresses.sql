-- What an address held at first is sometimes known by a person alone, who may come after its invoice has ended. What that
-- changes shows when the address is compared once more.
alter table deposit_address
    -- Compared with its balance up to then, though its invoice is not open.
    add column compared_until timestamptz;
create index deposit_address_compared on deposit_address (network) where compared_until is not null;
