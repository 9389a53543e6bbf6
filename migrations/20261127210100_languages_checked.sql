-- In a step of its own, so that nobody waits for the reading of the tables.
alter table invoice validate constraint invoice_language_known;
alter table subscription validate constraint subscription_language_known;
alter table mail validate constraint mail_language_known;
