<?php

declare(strict_types=1);

const MAX_AGE_SECONDS = 600;

/** Not to be trusted: answer 401. */
final class Refused extends Exception
{
}

/**
 * Returns the event, or null if it was handled before (answer 200 and do nothing).
 *
 * $rawBody: the very bytes received, from file_get_contents('php://input'). Parsing and encoding again gives others.
 * $signature: $_SERVER['HTTP_X_GATEWAY_SIG'] ?? null.
 * $remember(string $eventId): bool stores the id under a unique key and says whether it was new. Do it in the
 * transaction that fulfils the order: an id that is stored although the order was not fulfilled loses the payment.
 */
function verify_ipn(string $rawBody, ?string $signature, string $secret, callable $remember, ?int $now = null): ?array
{
    $expected = hash_hmac('sha512', $rawBody, $secret);
    // Constant time; it checks the length itself.
    if (!hash_equals($expected, $signature ?? '')) {
        throw new Refused('forged');
    }
    $event = json_decode($rawBody, true, 512, JSON_THROW_ON_ERROR);
    if (abs(($now ?? time()) - $event['event_at']) > MAX_AGE_SECONDS) {
        throw new Refused('stale');
    }
    // The id of the signed body, not of the header, which anyone could have changed.
    return $remember($event['event_id']) ? $event : null;
}
