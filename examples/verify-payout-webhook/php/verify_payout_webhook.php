<?php

declare(strict_types=1);

const PAYOUT_WEBHOOK_MAX_AGE_SECONDS = 600;

/** Not to be trusted: answer 401. */
final class PayoutWebhookRefused extends Exception
{
}

/**
 * Returns the event, or null if it was handled before or is a test (answer 200 and do nothing).
 *
 * $rawBody: the very bytes received, from file_get_contents('php://input'). Parsing and encoding again gives others.
 * $signature: $_SERVER['HTTP_X_GATEWAY_SIGNATURE'] ?? null.
 * $remember(string $eventId): bool stores the id under a unique key and says whether it was new. Do it in the
 * transaction that books the event: an id that is stored although nothing was booked loses the event.
 */
function verify_payout_webhook(
    string $rawBody,
    ?string $signature,
    string $secret,
    callable $remember,
    ?int $now = null,
): ?array {
    $expected = hash_hmac('sha256', $rawBody, $secret);
    // Constant time; it checks the length itself.
    if (!hash_equals($expected, $signature ?? '')) {
        throw new PayoutWebhookRefused('forged');
    }
    $event = json_decode($rawBody, true, 512, JSON_THROW_ON_ERROR);
    if (abs(($now ?? time()) - $event['eventAt']) > PAYOUT_WEBHOOK_MAX_AGE_SECONDS) {
        throw new PayoutWebhookRefused('stale');
    }
    // Made by POST /v1/webhooks/test or gatewayctl check-receiver: nothing was paid.
    if (($event['_gateway']['test'] ?? null) === true) {
        return null;
    }
    // The id of the signed body, not of the header, which anyone could have changed.
    return $remember($event['eventId']) ? $event : null;
}
