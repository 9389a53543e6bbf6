-- What buyers see of a merchant beside its name: a colour, a way to write to it, and a logo. The logo is a PNG that the gateway made
-- of the uploaded file; its name is the head of its SHA-256, so that a browser may keep it for ever. Changed by people alone.
create table merchant_front (
    merchant_id uuid primary key references merchant (id),
    colour text constraint merchant_front_colour_form check (colour ~ '^#[0-9a-f]{6}$'),
    contact text constraint merchant_front_contact_length check (char_length(contact) between 3 and 500),
    logo_name text constraint merchant_front_logo_name_form check (logo_name ~ '^[0-9a-f]{32}$'),
    logo_width integer constraint merchant_front_logo_width_range check (logo_width between 1 and 4096),
    logo_height integer constraint merchant_front_logo_height_range check (logo_height between 1 and 4096),
    logo bytea constraint merchant_front_logo_size check (octet_length(logo) between 1 and 65536),
    updated_at timestamptz not null default clock_timestamp(),
    constraint merchant_front_logo_whole check (num_nulls(logo_name, logo_width, logo_height, logo) in (0, 4))
);

-- Buyers' browsers ask for a logo by its name alone.
create index merchant_front_by_logo on merchant_front (logo_name) where logo_name is not null;

create trigger merchant_front_audited after insert or update on merchant_front for each row
    when (audited_operator() is not null)
    execute function audit_row('merchant_id', 'colour', 'contact', 'logo_name');

insert into role_grant (role, what)
values ('gateway_dashboard', 'insert, update on merchant_front');

select grant_roles();
