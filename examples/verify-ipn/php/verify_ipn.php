<?php

declare(strict_types=1);

const MAX_AGE_SECONDS = 600;

/** Not to be trusted: answer 401. */
final class Refused extends Exception
{
}

/**
 * Returns one of four:
 * - ['payment' => event]: the payment reached this payment_status. The one event to act on.
 * - ['notice' => event]: money came beside or after the payment, described in _gateway.notice. It
 *   is for a person and changes nothing: its payment_status only repeats the state of the invoice.
 * - ['renewal' => event]: a subscription is due, as _gateway.renewal says. Mail its renewal_url to
 *   the subscriber unless the gateway does, and ship nothing: its payment_status, mostly finished,
 *   only repeats the state of the latest invoice.
 * - []: it was handled before, or is a test of yours (answer 200 and do nothing).
 *
 * $rawBody: the very bytes received, from file_get_contents('php://input'). Parsing and encoding again gives others.
 * $signature: $_SERVER['HTTP_X_GATEWAY_SIG'] ?? null.
 * $remember(string $key): bool stores the key in a unique column and returns true if it was new. Do it
 * in the transaction that fulfils the order: a key that is stored although the order was not
 * fulfilled loses the payment.
 */
function verify_ipn(string $rawBody, ?string $signature, string $secret, callable $remember, ?int $now = null): array
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
    // Made by POST /v1/webhooks/test or gatewayctl check-receiver: nothing was paid.
    if (($event['_gateway']['test'] ?? null) === true) {
        return [];
    }
    // Each notice has an event id of its own and repeats the status: any buyer can cause many after
    // one payment. All fields are those of the signed body, never of a header.
    if (isset($event['_gateway']['notice'])) {
        return $remember($event['event_id']) ? ['notice' => $event] : [];
    }
    // So has each reminder of a renewal: seven days, seven events of the same payment and status.
    if (isset($event['_gateway']['renewal'])) {
        return $remember($event['event_id']) ? ['renewal' => $event] : [];
    }
    return $remember("{$event['payment_id']} {$event['payment_status']}") ? ['payment' => $event] : [];
}
