-- In a step of its own: reading the table under the lock that added the constraints would keep its users waiting.
alter table mail validate constraint mail_kind_known;
alter table mail validate constraint mail_link_known;
