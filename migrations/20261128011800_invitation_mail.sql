-- Invitations to a merchant's team by mail. Their subject is the membership on offer; they are of no link, and their contents hold the
-- address of the invitation sealed.
alter table mail
    drop constraint mail_kind_known,
    add constraint mail_kind_known check (kind in ('receipt', 'reminder', 'announcement', 'invitation')) not valid,
    drop constraint mail_link_known,
    add constraint mail_link_known check ((kind in ('announcement', 'invitation')) = (link_id is null)) not valid;
