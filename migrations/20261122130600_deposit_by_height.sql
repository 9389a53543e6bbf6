-- A reorganisation asks for all deposits above a height, booked ones among them.
create index deposit_by_height on deposit (network, height) where height is not null;
