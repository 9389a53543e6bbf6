<?php

declare(strict_types=1);

namespace Gateway\Sdk;

/** JSON whose amounts keep their digits: a float has 15. */
final class Exact
{
    // Every text in JSON, with the number that follows it if it is a key. Texts are matched whole,
    // so nothing inside one is taken for a key.
    private const TEXTS = '/"((?:[^"\\\\]++|\\\\.)*+)"(\s*+:\s*+)?(-?\d[\d.eE+-]*+)?/s';

    /** @throws \JsonException */
    public static function parse(string $json): mixed
    {
        return json_decode($json, true, 512, JSON_THROW_ON_ERROR);
    }

    /**
     * The same, with amounts as the decimal strings that were sent.
     *
     * @throws \JsonException
     */
    public static function parsePayment(string $json): mixed
    {
        $isAmount = array_flip(Contract::AMOUNT_FIELDS);
        $exact = preg_replace_callback(
            self::TEXTS,
            static fn (array $found): string => isset($found[3], $isAmount[$found[1]]) && $found[2] !== ''
                ? "\"$found[1]\":\"$found[3]\"" : $found[0],
            $json,
        );
        return self::parse($exact ?? throw new \JsonException(preg_last_error_msg()));
    }

    /**
     * `price_amount` as a JSON number with its digits.
     *
     * @param array<string, mixed> $body
     */
    public static function writePayment(array $body): string
    {
        $amount = self::digits($body['price_amount'] ?? null);
        unset($body['price_amount']);
        return "{\"price_amount\":$amount," . substr(self::write((object) $body), 1);
    }

    public static function write(mixed $body): string
    {
        return json_encode($body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);
    }

    /** An amount in plain digits. A float is refused: it is not what was written. */
    public static function digits(mixed $amount): string
    {
        if (is_int($amount)) {
            $amount = (string) $amount;
        }
        if (!is_string($amount) || !preg_match('/^[0-9]+(\.[0-9]+)?$/D', $amount)) {
            throw new \InvalidArgumentException('an amount is a decimal string, like "25.10"');
        }
        return $amount;
    }
}
