-- The checkout speaks twelve languages, and so do its mails.
alter table invoice
    drop constraint invoice_language_known,
    add constraint invoice_language_known check (language in ('en', 'de', 'ar', 'es', 'fr', 'it', 'pt', 'nl', 'pl', 'tr', 'ja', 'zh')) not valid;
alter table subscription
    drop constraint subscription_language_known,
    add constraint subscription_language_known check (language in ('en', 'de', 'ar', 'es', 'fr', 'it', 'pt', 'nl', 'pl', 'tr', 'ja', 'zh')) not valid;
alter table mail
    drop constraint mail_language_known,
    add constraint mail_language_known check (language in ('en', 'de', 'ar', 'es', 'fr', 'it', 'pt', 'nl', 'pl', 'tr', 'ja', 'zh')) not valid;
