-- Sealed under the master key and holding nothing: a process that cannot open it has another key, and starts no work. A rotation
-- moves it last, so that it names the old key until every secret is under the new one.
create table master_key_proof (
    only_row boolean primary key default true constraint master_key_proof_single check (only_row),
    sealed bytea not null,
    updated_at timestamptz not null default now()
);
