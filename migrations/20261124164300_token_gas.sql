-- What a transfer of a token takes, as blocks told it. Quotes are made of it.
create table token_gas (
    token_id text primary key,
    gas bigint not null constraint token_gas_positive check (gas > 0),
    observed_at timestamptz not null default now()
);

insert into role_grant (role, what) values ('gateway_payer', 'insert, update on token_gas');

select grant_roles();
