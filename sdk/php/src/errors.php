<?php

// What this library throws, but for wrong arguments (\InvalidArgumentException).

declare(strict_types=1);

namespace Gateway\Sdk;

class GatewayException extends \RuntimeException
{
}

/** No answer came, in all attempts. What was asked for may have happened. */
final class ConnectionException extends GatewayException
{
    /** @param ?string $idempotencyKey repeat a create with it, and it happens once */
    public function __construct(string $message, public readonly ?string $idempotencyKey = null)
    {
        parent::__construct($message);
    }
}

/** An answer that is an error. Branch on `$errorCode`; the message may change. */
class ApiException extends GatewayException
{
    /**
     * @param string $errorCode `code` of the payment API and of non-custodial payouts, `kind` of mass payouts
     * @param mixed $details more for a program, with some errors of payouts
     * @param ?int $retryAfter seconds to wait before the next request, if the answer says so
     */
    final public function __construct(
        public readonly int $status,
        public readonly string $errorCode,
        string $message,
        public readonly mixed $details = null,
        public readonly ?int $retryAfter = null,
    ) {
        parent::__construct("$errorCode: $message");
    }

    /** The three envelopes of the API, or something else that a proxy answered. */
    public static function read(int $status, string $text, ?int $retryAfter): self
    {
        $body = json_decode($text, true);
        $inner = is_array($body['error'] ?? null) ? $body['error'] : $body;
        $code = $inner['kind'] ?? $inner['code'] ?? null;
        $code = is_string($code) ? $code : 'INTERNAL_ERROR';
        $message = is_string($inner['message'] ?? null) ? $inner['message'] : "HTTP $status";
        $kind = match (true) {
            $code === 'QUOTA_EXCEEDED' => QuotaException::class,
            $status === 429 => RateLimitException::class,
            in_array($status, [400, 413, 422], true) => InvalidRequestException::class,
            $status === 401 => AuthenticationException::class,
            $status === 403 => PermissionException::class,
            $status === 404 => NotFoundException::class,
            $status === 409 => ConflictException::class,
            default => ServerException::class,
        };
        return new $kind($status, $code, $message, $inner['details'] ?? null, $retryAfter);
    }
}

/** 400, 413, 422: the request can never succeed as it is. */
final class InvalidRequestException extends ApiException
{
}

/** 401: the API key is missing, malformed or unknown. */
final class AuthenticationException extends ApiException
{
}

/** 403: the merchant is suspended. */
final class PermissionException extends ApiException
{
}

/** 404: nothing of this merchant has that id. */
final class NotFoundException extends ApiException
{
}

/** 409: the state does not allow it, or the idempotency key was used for another request. */
final class ConflictException extends ApiException
{
}

/** 429: more than 60 requests within 60 seconds, and `Retry-After` was above `maxWait`. */
final class RateLimitException extends ApiException
{
}

/** 429: too many open invoices. Repeating helps only after some have ended. */
final class QuotaException extends ApiException
{
}

/** 5xx, and any answer that is not the gateway's. */
final class ServerException extends ApiException
{
}

/** A delivery that is not to be trusted. */
final class WebhookException extends GatewayException
{
    /** @param 'forged'|'stale' $reason */
    public function __construct(public readonly string $reason)
    {
        parent::__construct($reason);
    }
}
