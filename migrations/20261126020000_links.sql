-- Payment links: pages whose visitors create invoices of their merchant without an API key.
create table link (
    id uuid primary key,
    -- The public id, pzl_ and 130 random bits.
    link_id text not null constraint link_link_id_unique unique,
    merchant_id uuid not null references merchant (id),
    type text not null constraint link_type_known check (type in ('payment', 'donation', 'subscription', 'pos')),
    title text not null constraint link_title_length check (char_length(title) between 1 and 120),
    description text constraint link_description_length check (char_length(description) <= 2000),
    -- The price; of a donation the amount that the page proposes. Null where the visitor chooses.
    price_amount numeric(33, 18) constraint link_price_positive check (price_amount > 0 and price_amount <> 'NaN'),
    price_currency text not null,
    min_amount numeric(33, 18) constraint link_min_positive check (min_amount > 0 and min_amount <> 'NaN'),
    max_amount numeric(33, 18) constraint link_max_positive check (max_amount > 0 and max_amount <> 'NaN'),
    suggested_amounts numeric(33, 18)[] not null default '{}',
    -- code@network of the tokens that its invoices may be paid in; null leaves it to the merchant's own list.
    accepted_tokens text[],
    single_use boolean not null default false,
    active boolean not null default true,
    success_url text,
    cancel_url text,
    ipn_callback_url text,
    order_id text constraint link_order_id_length check (char_length(order_id) <= 255),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
create index link_by_created on link (merchant_id, created_at, id);

-- The metadata of a donation as it stands in its webhooks (`_gateway.donation`), JSON text.
alter table invoice add column donation text;

-- The quotas: invoices that the merchant created himself (link_id is null), and those of each link. It replaces invoice_open, which
-- the programs of the release before still read.
create index invoice_open_by_link on invoice (merchant_id, link_id) where status in ('draft', 'pending', 'partial');
-- The invoices of a link; a single-use link is used up by a paid one.
create index invoice_by_link on invoice (link_id, created_at, id) where link_id is not null;

insert into role_grant (role, what)
values
    ('gateway_api', 'insert, update on link'),
    ('gateway_dashboard', 'insert, update on link');

select grant_roles();
