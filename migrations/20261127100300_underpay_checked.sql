-- In a step of its own: reading the tables under the lock that added the columns would keep their users waiting.
alter table merchant validate constraint merchant_underpay_range;
alter table merchant validate constraint merchant_underpay_when_known;
alter table invoice validate constraint invoice_underpay_range;
alter table invoice validate constraint invoice_underpay_when_known;
