<?php

declare(strict_types=1);

namespace Gateway\Sdk;

/**
 * The gateway's API, version 1.
 *
 * @phpstan-import-type Alive from Contract
 * @phpstan-import-type Currencies from Contract
 * @phpstan-import-type Estimate from Contract
 * @phpstan-import-type MinAmount from Contract
 * @phpstan-import-type Balance from Contract
 * @phpstan-import-type Event from Contract
 * @phpstan-import-type NewEventsResend from Contract
 * @phpstan-import-type NewSandboxDeposit from Contract
 * @phpstan-import-type Payment from Contract
 * @phpstan-import-type SandboxDeposit from Contract
 * @phpstan-import-type WebhookTestResult from Contract
 */
final class Gateway
{
    public readonly Payments $payments;
    /** On bitcoin, litecoin and dogecoin. */
    public readonly MassPayouts $massPayouts;
    /** On the EVM networks. */
    public readonly MassPayouts $evmMassPayouts;
    /** Those that you sign yourself. */
    public readonly NcPayouts $ncPayouts;
    private Transport $transport;

    /**
     * @param float $timeout seconds of one attempt
     * @param float $retryFor seconds after which a call is not attempted again
     * @param float $maxWait seconds of `Retry-After` that a call may spend waiting
     * @param ?callable $send another HTTP client, see Transport
     * @param ?callable(float): void $sleep instead of a timer, for tests
     */
    public function __construct(
        string $baseUrl,
        #[\SensitiveParameter] ?string $apiKey = null,
        float $timeout = 30.0,
        float $retryFor = 60.0,
        float $maxWait = 5.0,
        ?callable $send = null,
        ?callable $sleep = null,
    ) {
        $this->transport = new Transport($baseUrl, $apiKey, $timeout, $retryFor, $maxWait, $send, $sleep);
        $this->payments = new Payments($this->transport);
        $this->massPayouts = new MassPayouts($this->transport, '/v1/mass-payout');
        $this->evmMassPayouts = new MassPayouts($this->transport, '/v1/evm-mass-payout');
        $this->ncPayouts = new NcPayouts($this->transport);
    }

    /** @return Alive */
    public function status(): array
    {
        return $this->transport->send('GET', '/v1/status');
    }

    /** @return Currencies */
    public function currencies(): array
    {
        return $this->transport->send('GET', '/v1/currencies', answer: 'payment');
    }

    /**
     * A price in a currency, now; not binding.
     *
     * @return Estimate
     */
    public function estimate(string|int $amount, string $currencyFrom, string $currencyTo, ?string $network = null): array
    {
        $query = ['amount' => Exact::digits($amount), 'currency_from' => $currencyFrom, 'currency_to' => $currencyTo, 'network' => $network];
        return $this->transport->send('GET', '/v1/estimate', $query, answer: 'payment');
    }

    /**
     * The smallest payment in a currency.
     *
     * @return MinAmount
     */
    public function minAmount(string $currencyTo, ?string $currencyFrom = null, ?string $network = null): array
    {
        $query = ['currency_to' => $currencyTo, 'currency_from' => $currencyFrom, 'network' => $network];
        return $this->transport->send('GET', '/v1/min-amount', $query, answer: 'payment');
    }

    /**
     * Everything that happened behind the event `$after`, oldest first, also what has no webhook; it
     * ends where there is no more now. Act once per `event_id`, and keep the last one: it is the next
     * `$after`. Waits out the rate limit.
     *
     * @return \Generator<Event>
     */
    public function events(?string $after = null, ?string $type = null, int $limit = 100): \Generator
    {
        do {
            $query = ['after' => $after, 'type' => $type, 'limit' => $limit];
            $page = $this->transport->send('GET', '/v1/events', $query, answer: 'payment', maxWait: Transport::PATIENT);
            foreach ($page['data'] as $event) {
                yield $event;
            }
            $after = $page['next'];
        } while ($page['has_more']);
    }

    /**
     * One event, with every attempt to deliver its webhook.
     *
     * @return Event
     */
    public function event(string $id): array
    {
        return $this->transport->send('GET', '/v1/events/' . Transport::segment($id), answer: 'payment');
    }

    /**
     * Sends an event's webhook again, under the same `event_id`. While attempts are under way it
     * changes nothing.
     *
     * @return Event
     */
    public function resendEvent(string $id): array
    {
        return $this->transport->send('POST', '/v1/events/' . Transport::segment($id) . '/resend', answer: 'payment');
    }

    /**
     * Sends the webhooks of many events again: all that failed, if nothing narrows it. Waits out the
     * rate limit.
     *
     * @param NewEventsResend $which
     * @return list<string> the `event_id`s of those that were started
     */
    public function resendEvents(array $which = []): array
    {
        $started = [];
        do {
            $body = Exact::write((object) $which);
            $page = $this->transport->send('POST', '/v1/events/resend', [], $body, maxWait: Transport::PATIENT);
            array_push($started, ...$page['event_ids']);
            $which['after'] = $page['next'];
        } while ($page['has_more']);
        return $started;
    }

    /**
     * Sends a signed sample to a receiver now, and returns what it said. The sample says that it is a
     * test. Without a URL it goes where such webhooks go.
     *
     * @return WebhookTestResult
     */
    public function testWebhook(string $type, ?string $url = null): array
    {
        $body = Exact::write(['type' => $type] + ($url === null ? [] : ['url' => $url]));
        return $this->transport->send('POST', '/v1/webhooks/test', [], $body);
    }

    /**
     * What the ledger says you have, per currency and network.
     *
     * @return Balance
     */
    public function balance(?string $fiat = null): array
    {
        return $this->transport->send('GET', '/v1/balance', ['fiat' => $fiat]);
    }

    /**
     * Sandbox only: pays an invoice, or an address of yours, on the simulated chain; once, as its
     * `txid` says. `amount` is a decimal string.
     *
     * @param NewSandboxDeposit $deposit
     * @return SandboxDeposit
     */
    public function sandboxDeposit(array $deposit): array
    {
        $body = ['amount' => Exact::digits($deposit['amount'] ?? null)] + $deposit + ['txid' => bin2hex(random_bytes(16))];
        return $this->transport->send('POST', '/v1/sandbox/deposit', [], Exact::write($body));
    }

    /**
     * Sandbox only: ends the time to pay an invoice.
     *
     * @return Payment
     */
    public function sandboxExpire(string $paymentId): array
    {
        $body = Exact::write(['payment_id' => $paymentId]);
        return $this->transport->send('POST', '/v1/sandbox/expire', [], $body, answer: 'payment');
    }
}

/**
 * @phpstan-import-type NewPayment from Contract
 * @phpstan-import-type Payment from Contract
 * @phpstan-import-type PaymentDetail from Contract
 * @phpstan-import-type PaymentList from Contract
 * @phpstan-import-type BuyerStatus from Contract
 * @phpstan-import-type PaymentDeposits from Contract
 */
final class Payments
{
    public function __construct(private Transport $transport)
    {
    }

    /**
     * Creates an invoice, once per idempotency key: a random one if none is given. `price_amount` is
     * a decimal string.
     *
     * @param NewPayment $payment
     * @return Payment
     */
    public function create(array $payment, ?string $idempotencyKey = null): array
    {
        $key = $idempotencyKey ?? Transport::key();
        return $this->transport->send('POST', '/v1/payment', [], Exact::writePayment($payment), $key, 'payment');
    }

    /**
     * An invoice by its `payment_id`, or by your own `order_id`.
     *
     * @return PaymentDetail
     */
    public function get(string $id): array
    {
        return $this->read($id, null);
    }

    /**
     * @param array{limit?: int, page?: int, sortBy?: string, orderBy?: string} $query
     * @return PaymentList
     */
    public function list(array $query = []): array
    {
        return $this->transport->send('GET', '/v1/payment', $query, answer: 'payment');
    }

    /**
     * All invoices, oldest first, so that new ones come last. Waits out the rate limit.
     *
     * @return \Generator<Payment>
     */
    public function each(int $limit = 100, string $orderBy = 'asc'): \Generator
    {
        $query = ['limit' => $limit, 'orderBy' => $orderBy];
        $read = fn (int $page) => $this->transport
            ->send('GET', '/v1/payment', $query + ['page' => $page], answer: 'payment', maxWait: Transport::PATIENT);
        return Transport::items($read, 'payment_id');
    }

    /**
     * What reached the address of an invoice, also unconfirmed or in another currency.
     *
     * @return PaymentDeposits
     */
    public function deposits(string $id, ?int $limit = null): array
    {
        return $this->transport->send('GET', '/v1/payment/' . Transport::segment($id) . '/deposits', ['limit' => $limit]);
    }

    /**
     * The buyer's view. The id is the credential.
     *
     * @return BuyerStatus
     */
    public function buyerStatus(string $id): array
    {
        return $this->transport->send('GET', '/v1/invoices/' . Transport::segment($id) . '/status', answer: 'payment');
    }

    /**
     * Looks until the invoice is `finished`, `expired` or `failed`, or the time is up, and returns it
     * as it is then. A webhook tells you sooner and at no cost: this is for scripts.
     *
     * @return PaymentDetail
     */
    public function wait(string $id, float $timeout = 1800.0, float $interval = 3.0): array
    {
        $until = Transport::now() + $timeout;
        for (;;) {
            $payment = $this->read($id, Transport::PATIENT);
            $isOver = in_array($payment['payment_status'], ['finished', 'expired', 'failed'], true);
            if ($isOver || Transport::now() + $interval > $until) {
                return $payment;
            }
            $this->transport->sleep($interval);
        }
    }

    /** @return PaymentDetail */
    private function read(string $id, ?float $maxWait): array
    {
        return $this->transport->send('GET', '/v1/payment/' . Transport::segment($id), answer: 'payment', maxWait: $maxWait);
    }
}

/**
 * Both families of mass payouts: the operations are the same.
 *
 * @phpstan-import-type NewPayout from Contract
 * @phpstan-import-type ConfirmPayout from Contract
 * @phpstan-import-type PayoutOrder from Contract
 * @phpstan-import-type PayoutOrderPage from Contract
 * @phpstan-import-type PayoutItem from Contract
 * @phpstan-import-type PayoutItemPage from Contract
 * @phpstan-import-type PayoutBatch from Contract
 */
final class MassPayouts
{
    public function __construct(private Transport $transport, private string $path)
    {
    }

    /**
     * Creates a draft with its quote. Its idempotency key is kept for ever.
     *
     * @param NewPayout $order
     * @return PayoutOrder
     */
    public function create(array $order, ?string $idempotencyKey = null): array
    {
        return $this->post('', Exact::write((object) $order), $idempotencyKey ?? Transport::key());
    }

    /**
     * The same from a file with a heading: `address`, `amount`, and if wanted `reference`, `memo`.
     *
     * @param array{network: string, currency: string, feeMode?: string, refundAddress?: string, label?: string, callbackUrl?: string} $order
     * @return PayoutOrder
     */
    public function createCsv(array $order, string $csv, ?string $idempotencyKey = null): array
    {
        $key = $idempotencyKey ?? Transport::key();
        return $this->transport->send('POST', $this->path, $order, $csv, $key, contentType: 'text/csv')['data'];
    }

    /** @return PayoutOrder */
    public function get(string $id): array
    {
        return $this->transport->send('GET', $this->of($id))['data'];
    }

    /**
     * @param array{limit?: int, page?: int, state?: string} $query
     * @return PayoutOrderPage
     */
    public function list(array $query = []): array
    {
        return $this->transport->send('GET', $this->path, $query);
    }

    /**
     * All orders, newest first.
     *
     * @return \Generator<PayoutOrder>
     */
    public function each(int $limit = 100, ?string $state = null): \Generator
    {
        return $this->pages($this->path, $limit, $state);
    }

    /**
     * @param array{limit?: int, page?: int, state?: string} $query
     * @return PayoutItemPage
     */
    public function items(string $id, array $query = []): array
    {
        return $this->transport->send('GET', $this->of($id) . '/items', $query);
    }

    /**
     * All recipients of an order, in the order of its rows.
     *
     * @return \Generator<PayoutItem>
     */
    public function eachItem(string $id, int $limit = 100, ?string $state = null): \Generator
    {
        return $this->pages($this->of($id) . '/items', $limit, $state);
    }

    /** @return list<PayoutBatch> */
    public function batches(string $id): array
    {
        return $this->transport->send('GET', $this->of($id) . '/batches')['data'];
    }

    /**
     * Gives the order its deposit address. Name the quote that you were shown, and no other is taken.
     *
     * @param ConfirmPayout $quote
     * @return PayoutOrder
     */
    public function confirm(string $id, array $quote = []): array
    {
        return $this->post('/' . Transport::segment($id) . '/confirm', Exact::write((object) $quote));
    }

    /** @return PayoutOrder */
    public function refreshQuote(string $id): array
    {
        return $this->post('/' . Transport::segment($id) . '/refresh-quote');
    }

    /**
     * Cancels it; what came in goes back to `refundAddress`. Repeating it changes nothing.
     *
     * @return PayoutOrder
     */
    public function cancel(string $id): array
    {
        try {
            return $this->post('/' . Transport::segment($id) . '/cancel');
        } catch (ConflictException $conflict) {
            // An earlier attempt, whose answer was lost, has cancelled it.
            if (($conflict->details['state'] ?? null) === 'cancelled') {
                return $this->get($id);
            }
            throw $conflict;
        }
    }

    /** One line per recipient. */
    public function reportCsv(string $id): string
    {
        return $this->transport->send('GET', $this->of($id) . '/report.csv', answer: 'text');
    }

    public function templateCsv(): string
    {
        return $this->transport->send('GET', $this->path . '/template.csv', answer: 'text');
    }

    private function of(string $id): string
    {
        return $this->path . '/' . Transport::segment($id);
    }

    private function pages(string $path, int $limit, ?string $state): \Generator
    {
        $query = ['limit' => $limit, 'state' => $state];
        $read = fn (int $page) => $this->transport->send('GET', $path, $query + ['page' => $page], maxWait: Transport::PATIENT);
        return Transport::items($read, 'id');
    }

    /** @return PayoutOrder */
    private function post(string $path, ?string $body = null, ?string $key = null): array
    {
        return $this->transport->send('POST', $this->path . $path, [], $body, $key)['data'];
    }
}

/**
 * Payouts that the merchant signs.
 *
 * @phpstan-import-type NewNcPayout from Contract
 * @phpstan-import-type NcPayout from Contract
 * @phpstan-import-type NcPayoutPage from Contract
 */
final class NcPayouts
{
    private const PATH = '/v1/nc-payout';

    public function __construct(private Transport $transport)
    {
    }

    /**
     * Builds what is to be signed. Its idempotency key is kept for ever.
     *
     * @param NewNcPayout $payout
     * @return NcPayout
     */
    public function create(array $payout, ?string $idempotencyKey = null): array
    {
        return $this->post('', (object) $payout, $idempotencyKey ?? Transport::key());
    }

    /** @return NcPayout */
    public function get(string $id): array
    {
        return $this->transport->send('GET', self::PATH . '/' . Transport::segment($id))['data'];
    }

    /**
     * @param array{limit?: int, page?: int, state?: string} $query
     * @return NcPayoutPage
     */
    public function list(array $query = []): array
    {
        return $this->transport->send('GET', self::PATH, $query);
    }

    /**
     * All payouts, newest first.
     *
     * @return \Generator<NcPayout>
     */
    public function each(int $limit = 100, ?string $state = null): \Generator
    {
        $query = ['limit' => $limit, 'state' => $state];
        $read = fn (int $page) => $this->transport->send('GET', self::PATH, $query + ['page' => $page], maxWait: Transport::PATIENT);
        return Transport::items($read, 'id');
    }

    /**
     * Hands in all signed transactions; they are sent until a block holds them.
     *
     * @param list<string> $signed
     * @return NcPayout
     */
    public function submit(string $id, array $signed): array
    {
        return $this->post('/' . Transport::segment($id) . '/submit', ['signed' => $signed]);
    }

    /**
     * Builds it again, with the fees of now and the same nonces or inputs.
     *
     * @param 'slow'|'normal'|'fast'|null $feeLevel
     * @return NcPayout
     */
    public function refresh(string $id, ?string $feeLevel = null): array
    {
        $body = (object) ($feeLevel === null ? [] : ['feeLevel' => $feeLevel]);
        return $this->post('/' . Transport::segment($id) . '/refresh', $body);
    }

    /** @return NcPayout */
    public function cancel(string $id): array
    {
        return $this->post('/' . Transport::segment($id) . '/cancel', null);
    }

    /** @return NcPayout */
    private function post(string $path, array|object|null $body, ?string $key = null): array
    {
        $text = $body === null ? null : Exact::write($body);
        return $this->transport->send('POST', self::PATH . $path, [], $text, $key)['data'];
    }
}
