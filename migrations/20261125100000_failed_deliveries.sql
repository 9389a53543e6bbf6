-- The deliveries of one merchant that failed, in the order in which they were made: POST /v1/events/resend walks through them, past
-- any number that were taken. A delivery enters the index only when it fails.
--
-- Webhooks wait while it is built, some seconds for ten million deliveries; then they are sent as before. Readers go on.
create index delivery_failed_by_merchant on delivery (merchant_id, created_at, id) where state in ('dropped', 'dead');
