<?php

declare(strict_types=1);

namespace Gateway\Sdk;

/** One request over all its attempts. */
final class Transport
{
    public const VERSION = '0.1.0';
    /** Reading a long list may wait for the next minute's requests. */
    public const PATIENT = 90.0;
    private const FIRST_PAUSE = 0.25;
    private const LONGEST_PAUSE = 8.0;

    private string $base;
    private \Closure $send;
    private \Closure $sleep;

    /**
     * @param ?callable(string, string, array<string, string>, ?string, float): array{int, array<string, string>, string} $send
     *   (method, url, headers, body, timeout) to (status, headers in lower case, body); throws ConnectionException
     * @param ?callable(float): void $sleep
     */
    public function __construct(
        string $baseUrl,
        #[\SensitiveParameter] private ?string $apiKey,
        private float $timeout,
        private float $retryFor,
        private float $maxWait,
        ?callable $send,
        ?callable $sleep,
    ) {
        if (!preg_match('#^https?://#', $baseUrl)) {
            throw new \InvalidArgumentException('baseUrl is the gateway\'s address, like "https://pay.example"');
        }
        $this->base = rtrim($baseUrl, '/');
        $this->send = $send === null ? self::byCurl(...) : $send(...);
        $this->sleep = $sleep === null ? static fn (float $seconds) => usleep((int) ($seconds * 1e6)) : $sleep(...);
    }

    /** @return array<string, string> nothing secret */
    public function __debugInfo(): array
    {
        return ['base' => $this->base];
    }

    public function sleep(float $seconds): void
    {
        ($this->sleep)($seconds);
    }

    /**
     * Sends it until it is answered. Every request of this library can be sent twice.
     *
     * @param array<string, scalar|null> $query
     * @param 'payment'|'payout'|'text' $answer
     */
    public function send(
        string $method,
        string $path,
        array $query = [],
        ?string $body = null,
        ?string $idempotencyKey = null,
        string $answer = 'payout',
        ?float $maxWait = null,
        string $contentType = 'application/json',
    ): mixed {
        $mayWait = $maxWait ?? $this->maxWait;
        $deadline = self::now() + $this->retryFor;
        $url = $this->base . $path . ($query ? '?' . http_build_query($query) : '');
        $headers = $this->headers($body, $idempotencyKey, $contentType);
        for ($attempt = 0; ; $attempt++) {
            $pause = min(self::LONGEST_PAUSE, self::FIRST_PAUSE * 2 ** $attempt) * random_int(500, 1000) / 1000;
            try {
                $limit = max(0.001, min($this->timeout, $deadline - self::now()));
                return $this->attempt($method, $url, $headers, $body, $limit, $answer);
            } catch (ApiException $failure) {
                if ($failure->status < 500 && !$failure instanceof RateLimitException) {
                    throw $failure;
                }
                if ($failure->retryAfter !== null) {
                    if ($failure->retryAfter > $mayWait) {
                        throw $failure;
                    }
                    // Waiting as asked is no failed attempt: it does not use up the time for those.
                    $mayWait -= $failure->retryAfter;
                    $deadline += $failure->retryAfter;
                    $pause = max($pause, $failure->retryAfter);
                } elseif ($failure->status < 500) {
                    throw $failure;
                }
            } catch (ConnectionException $lost) {
                $failure = new ConnectionException("$method $path: " . $lost->getMessage(), $idempotencyKey);
            }
            if (self::now() + $pause >= $deadline) {
                throw $failure;
            }
            $this->sleep($pause);
        }
    }

    /** @param array<string, string> $headers */
    private function attempt(string $method, string $url, array $headers, ?string $body, float $limit, string $answer): mixed
    {
        [$status, $told, $text] = ($this->send)($method, $url, $headers, $body, $limit);
        if ($status < 200 || $status > 299) {
            $after = trim($told['retry-after'] ?? '');
            throw ApiException::read($status, $text, preg_match('/^\d{1,9}$/D', $after) ? (int) $after : null);
        }
        if ($answer === 'text') {
            return $text;
        }
        try {
            return $answer === 'payment' ? Exact::parsePayment($text) : Exact::parse($text);
        } catch (\JsonException) {
            throw new ConnectionException('a damaged answer');
        }
    }

    /** @return array<string, string> */
    private function headers(?string $body, ?string $idempotencyKey, string $contentType): array
    {
        $headers = ['user-agent' => 'gateway-sdk-php/' . self::VERSION];
        if ($this->apiKey !== null) {
            $headers['x-api-key'] = $this->apiKey;
        }
        if ($body !== null) {
            $headers['content-type'] = $contentType;
        }
        if ($idempotencyKey !== null) {
            $headers['idempotency-key'] = $idempotencyKey;
        }
        foreach ($headers as $value) {
            if (preg_match('/[\r\n]/', $value)) {
                throw new \InvalidArgumentException('a header has no line breaks');
            }
        }
        return $headers;
    }

    /**
     * @param array<string, string> $headers
     * @return array{int, array<string, string>, string}
     */
    private static function byCurl(string $method, string $url, array $headers, ?string $body, float $timeout): array
    {
        $told = [];
        $curl = curl_init($url);
        // An empty Expect: curl would wait for a 100 before a long body.
        $lines = ['expect:'];
        foreach ($headers as $name => $value) {
            $lines[] = "$name: $value";
        }
        curl_setopt_array($curl, [
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_HTTPHEADER => $lines,
            CURLOPT_TIMEOUT_MS => max(1, (int) ($timeout * 1000)),
            CURLOPT_NOSIGNAL => true,
            // A redirect would carry the key to another host.
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_HEADERFUNCTION => static function ($_, string $line) use (&$told): int {
                $parts = explode(':', $line, 2);
                if (count($parts) === 2) {
                    $told[strtolower(trim($parts[0]))] = trim($parts[1]);
                }
                return strlen($line);
            },
        ] + ($method === 'POST' ? [CURLOPT_POST => true, CURLOPT_POSTFIELDS => $body ?? ''] : []));
        $text = curl_exec($curl);
        if ($text === false) {
            throw new ConnectionException('no answer: ' . curl_error($curl));
        }
        return [curl_getinfo($curl, CURLINFO_RESPONSE_CODE), $told, (string) $text];
    }

    public static function now(): float
    {
        return hrtime(true) / 1e9;
    }

    /** A random key, as a version 4 UUID. */
    public static function key(): string
    {
        $bytes = random_bytes(16);
        $bytes[6] = chr(ord($bytes[6]) & 0x0f | 0x40);
        $bytes[8] = chr(ord($bytes[8]) & 0x3f | 0x80);
        return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($bytes), 4));
    }

    /** An id as one part of a path; an order_id may hold anything. */
    public static function segment(string $id): string
    {
        if (in_array($id, ['', '.', '..'], true)) {
            throw new \InvalidArgumentException('an id is text, and not empty');
        }
        return rawurlencode($id);
    }

    /**
     * Items of all pages. New items move others onto the next page while it is read, so those of
     * the page before are left out when they come again.
     *
     * @param callable(int): array<string, mixed> $read
     */
    public static function items(callable $read, string $field): \Generator
    {
        $before = [];
        for ($page = 0; ; $page++) {
            $found = $read($page);
            $ids = [];
            foreach ($found['data'] as $item) {
                $ids[$item[$field]] = true;
                if (!isset($before[$item[$field]])) {
                    yield $item;
                }
            }
            if ($ids === [] || $page + 1 >= $found['pagesCount']) {
                return;
            }
            $before = $ids;
        }
    }
}
