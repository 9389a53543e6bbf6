<?php

declare(strict_types=1);

namespace Gateway\Sdk;

/**
 * A payment IPN that verified.
 *
 * @phpstan-import-type PaymentIpn from Contract
 * @phpstan-import-type Notice from Contract
 * @phpstan-import-type Renewal from Contract
 */
final class PaymentEvent
{
    /**
     * @param PaymentIpn $payment
     * @param ?Notice $notice money came beside or after the payment. That is for a person: it
     *   changes nothing, and `payment_status` only repeats the state of the invoice. Never ship on
     *   it. Without a notice, a renewal and a test the payment reached its `payment_status`, the one
     *   kind of event to act on.
     * @param string $key act once per key
     * @param bool $isTest you, or your operator, tried the receiver. Nothing was paid: answer 200 and do
     *   nothing else
     * @param ?Renewal $renewal a subscription is due. Mail `renewal_url` to the subscriber unless
     *   the gateway does, and ship nothing: the payment is the latest invoice as it stands, mostly
     *   `finished`
     */
    public function __construct(
        public readonly array $payment,
        public readonly ?array $notice,
        public readonly string $key,
        public readonly bool $isTest = false,
        public readonly ?array $renewal = null,
    ) {
    }
}

/**
 * Verification. The two channels differ in header, hash and body: each has its own function.
 *
 * @phpstan-import-type PayoutWebhook from Contract
 */
final class Webhooks
{
    public const PAYMENT_SIGNATURE_HEADER = 'x-gateway-sig';
    public const PAYOUT_SIGNATURE_HEADER = 'x-gateway-signature';
    /** The greatest distance of a delivery's time from your clock. */
    private const MAX_AGE_SECONDS = 600;

    /**
     * Verifies a payment IPN: header `x-gateway-sig`, HMAC-SHA-512.
     *
     * @param string $rawBody what was received, byte for byte: decoding and encoding again gives other bytes
     * @param string|list<string> $secret one, or two while the old one is being replaced
     * @throws WebhookException
     */
    public static function verifyPaymentIpn(
        string $rawBody,
        ?string $signature,
        #[\SensitiveParameter] string|array $secret,
        ?int $now = null,
    ): PaymentEvent {
        self::authentic('sha512', $rawBody, $signature, $secret);
        $payment = self::read(Exact::parsePayment(...), $rawBody);
        self::fresh($payment['event_at'] ?? null, $now);
        $notice = $payment['_gateway']['notice'] ?? null;
        $renewal = $payment['_gateway']['renewal'] ?? null;
        $isTest = self::isTest($payment);
        $isPayment = $notice === null && $renewal === null && !$isTest;
        $key = $isPayment ? "{$payment['payment_id']} {$payment['payment_status']}" : $payment['event_id'];
        return new PaymentEvent($payment, $notice, $key, $isTest, $renewal);
    }

    /**
     * True of a webhook that was made for a test. Nothing was paid: answer 200 and do nothing else.
     *
     * @param array<string, mixed> $event
     */
    public static function isTest(array $event): bool
    {
        return ($event['_gateway']['test'] ?? null) === true;
    }

    /**
     * Verifies a webhook of mass payouts: header `X-Gateway-Signature`, HMAC-SHA-256. Act once per
     * `eventId`.
     *
     * @param string|list<string> $secret
     * @return PayoutWebhook
     * @throws WebhookException
     */
    public static function verifyPayoutWebhook(
        string $rawBody,
        ?string $signature,
        #[\SensitiveParameter] string|array $secret,
        ?int $now = null,
    ): array {
        self::authentic('sha256', $rawBody, $signature, $secret);
        $event = self::read(Exact::parse(...), $rawBody);
        self::fresh($event['eventAt'] ?? null, $now);
        return $event;
    }

    /** @param string|list<string> $secret */
    private static function authentic(string $hash, string $rawBody, ?string $signature, string|array $secret): void
    {
        $secrets = (array) $secret;
        if ($secrets === [] || in_array('', $secrets, true)) {
            throw new \InvalidArgumentException('the webhook secret is empty');
        }
        $isOurs = false;
        foreach ($secrets as $each) {
            // Constant time; it checks the length itself.
            $isOurs = hash_equals(hash_hmac($hash, $rawBody, $each), $signature ?? '') || $isOurs;
        }
        if (!$isOurs) {
            throw new WebhookException('forged');
        }
    }

    /** @return array<string, mixed> */
    private static function read(callable $parse, string $rawBody): array
    {
        try {
            $body = $parse($rawBody);
        } catch (\JsonException) {
            $body = null;
        }
        return is_array($body) ? $body : throw new WebhookException('forged');
    }

    private static function fresh(mixed $at, ?int $now): void
    {
        if (!is_int($at) || abs(($now ?? time()) - $at) > self::MAX_AGE_SECONDS) {
            throw new WebhookException('stale');
        }
    }
}
