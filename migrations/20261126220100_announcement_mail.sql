-- Announcements by mail, once each, to the owners of all merchants.

alter table announcement
    add column mailed_at timestamptz,
    add column mailed_by text,
    add constraint announcement_mailed check ((mailed_at is null) = (mailed_by is null));

drop trigger announcement_audited on announcement;
create trigger announcement_audited after insert or update on announcement for each row
    when (audited_operator() is not null) execute function audit_row('id', 'title', 'ends_at', 'withdrawn_at', 'mailed_at');

-- A mail of an announcement has no link and no contents of its own: the announcement is read when it is sent, so that nobody who can
-- write mails can send other words.
alter table mail
    drop constraint mail_kind_known,
    add constraint mail_kind_known check (kind in ('receipt', 'reminder', 'announcement')),
    alter column link_id drop not null,
    add constraint mail_link_known check ((kind = 'announcement') = (link_id is null));
