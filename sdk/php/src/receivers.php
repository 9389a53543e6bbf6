<?php

// Receivers of webhooks, for any framework.

declare(strict_types=1);

namespace Gateway\Sdk;

/**
 * Acts once per key, over PDO: the key and what you do about it in one transaction.
 *
 * The table: `CREATE TABLE webhook_seen (seen VARCHAR(255) PRIMARY KEY)`.
 */
final class PdoOnce
{
    public function __construct(private \PDO $pdo)
    {
    }

    /** @param callable(\PDO): void $act */
    public function __invoke(string $key, callable $act): void
    {
        $insert = $this->pdo->getAttribute(\PDO::ATTR_DRIVER_NAME) === 'mysql'
            ? 'INSERT IGNORE INTO webhook_seen (seen) VALUES (?)'
            : 'INSERT INTO webhook_seen (seen) VALUES (?) ON CONFLICT DO NOTHING';
        $this->pdo->beginTransaction();
        try {
            $statement = $this->pdo->prepare($insert);
            $statement->execute([$key]);
            if ($statement->rowCount() === 1) {
                $act($this->pdo);
            }
            $this->pdo->commit();
        } catch (\Throwable $failure) {
            $this->pdo->rollBack();
            throw $failure;
        }
    }
}

/** The same receiver for each kind of server. */
abstract class Receiver
{
    /** The status to answer. `$rawBody`: `$request->getContent()` in Laravel and Symfony. */
    final public function handle(string $rawBody, ?string $signature): int
    {
        try {
            $this->act($rawBody, $signature);
        } catch (WebhookException $refusal) {
            error_log("a webhook was refused: $refusal->reason");
            return $this->refused();
        } catch (\Throwable $failure) {
            error_log("a webhook is answered 500 and comes again: $failure");
            return 500;
        }
        return 200;
    }

    /** Plain PHP: reads the request and sets the status of the answer. */
    final public function respond(): void
    {
        $name = 'HTTP_' . strtoupper(strtr($this->header(), '-', '_'));
        http_response_code($this->handle((string) file_get_contents('php://input'), $_SERVER[$name] ?? null));
    }

    /** The header with the signature. */
    abstract public function header(): string;

    /** Answered to what is not to be trusted. */
    abstract protected function refused(): int;

    abstract protected function act(string $rawBody, ?string $signature): void;
}

/**
 * Receives payment IPNs: verifies, keeps notices, renewals and tests apart, acts once per payment
 * and status.
 */
final class PaymentIpnReceiver extends Receiver
{
    /**
     * @param string|list<string> $secret
     * @param callable(string, callable): void $once runs the callable, with the transaction, unless the
     *   key was stored before, and stores the key in the same transaction; PdoOnce does
     * @param callable(array, mixed): void $onPayment (payment, transaction): a status, told once. Compare
     *   order_id, price_amount and price_currency with your own record, then ship on `finished`
     * @param ?callable(array, array, mixed): void $onNotice (notice, payment, transaction): money came beside
     *   or after the payment; show it to a person, never ship on it
     * @param ?callable(array, array, mixed): void $onRenewal (renewal, payment, transaction): a
     *   subscription is due; mail renewal_url to the subscriber unless the gateway does; ship nothing.
     *   The payment is the latest invoice, mostly `finished`
     */
    public function __construct(
        #[\SensitiveParameter] private string|array $secret,
        private $once,
        private $onPayment,
        private $onNotice = null,
        private $onRenewal = null,
    ) {
    }

    public function header(): string
    {
        return Webhooks::PAYMENT_SIGNATURE_HEADER;
    }

    protected function refused(): int
    {
        return 401;
    }

    protected function act(string $rawBody, ?string $signature): void
    {
        $event = Webhooks::verifyPaymentIpn($rawBody, $signature, $this->secret);
        if ($event->isTest) {
            return;
        }
        ($this->once)($event->key, function (mixed $transaction) use ($event): void {
            if ($event->notice !== null) {
                $this->onNotice === null || ($this->onNotice)($event->notice, $event->payment, $transaction);
            } elseif ($event->renewal !== null) {
                $this->onRenewal === null || ($this->onRenewal)($event->renewal, $event->payment, $transaction);
            } else {
                ($this->onPayment)($event->payment, $transaction);
            }
        });
    }
}

/** Receives webhooks of mass payouts: verifies, keeps tests apart, and acts once per event. */
final class PayoutWebhookReceiver extends Receiver
{
    /**
     * @param string|list<string> $secret
     * @param callable(string, callable): void $once as of PaymentIpnReceiver
     * @param callable(array, mixed): void $onEvent (event, transaction): events may overtake each other, so
     *   never let an older order.updatedAt replace a newer one
     */
    public function __construct(
        #[\SensitiveParameter] private string|array $secret,
        private $once,
        private $onEvent,
    ) {
    }

    public function header(): string
    {
        return Webhooks::PAYOUT_SIGNATURE_HEADER;
    }

    protected function refused(): int
    {
        // On this channel a 4xx drops the event for good, also when it is the own secret or clock
        // that is wrong; a 5xx is tried again and kept.
        return 500;
    }

    protected function act(string $rawBody, ?string $signature): void
    {
        $event = Webhooks::verifyPayoutWebhook($rawBody, $signature, $this->secret);
        if (Webhooks::isTest($event)) {
            return;
        }
        ($this->once)($event['eventId'], fn (mixed $transaction) => ($this->onEvent)($event, $transaction));
    }
}
