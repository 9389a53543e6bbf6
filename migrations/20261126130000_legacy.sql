-- The /legacy adapter: keys of merchants whose clients were written for the old CoinPayments API, and what their orders said.

-- One pair per merchant. The private key checks the HMAC of each request, so it is sealed under the master key and not hashed.
create table legacy_key (
    merchant_id uuid primary key references merchant (id),
    public_key text not null constraint legacy_key_public_key_unique unique
        constraint legacy_key_public_key_shape check (public_key ~ '^[0-9a-f]{64}$'),
    private_key_sealed bytea not null,
    created_at timestamptz not null default now()
);
create trigger legacy_key_audited after insert or update or delete on legacy_key for each row
    when (audited_operator() is not null) execute function audit_row('merchant_id', 'public_key');

-- An invoice that the adapter created. Its IPNs are written in the adapter's dialect, with the fields that the order brought.
create table legacy_payment (
    invoice_id uuid primary key references invoice (id),
    merchant_id uuid not null references merchant (id),
    -- The id that the shop knows: 26 letters and digits, 130 random bits.
    txn_id text not null constraint legacy_payment_txn_id_unique unique,
    -- Opens the status page and the QR code, which need no other key.
    view_key text not null,
    ipn_type text not null constraint legacy_payment_ipn_type_known check (ipn_type in ('api', 'button', 'simple', 'donation')),
    -- The price as the order named it. The invoice has it in USD where it was in a coin other than the one paid.
    currency1 text not null,
    amount1 numeric(33, 18) not null constraint legacy_payment_amount1_positive check (amount1 > 0 and amount1 <> 'NaN'),
    -- The other fields of its IPNs, a JSON object of texts.
    fields text not null,
    created_at timestamptz not null default now()
);
create index legacy_payment_by_created on legacy_payment (merchant_id, created_at, invoice_id);

insert into role_grant (role, what)
values
    ('gateway_api', 'insert on legacy_payment'),
    ('gateway_dashboard', 'insert, update, delete on legacy_key');

select grant_roles();
