/** Anything that this library throws, but for wrong arguments (`TypeError`). */
export class GatewayError extends Error {
    constructor(message, options) {
        super(message, options);
        this.name = new.target.name;
    }
}
/** No answer came, in all attempts. What was asked for may have happened. */
export class ConnectionError extends GatewayError {
    /** Repeat a create with this key, and it happens once. */
    idempotencyKey;
    constructor(message, idempotencyKey, cause) {
        super(message, { cause });
        this.idempotencyKey = idempotencyKey;
    }
}
/** An answer that is an error. Branch on `code`; `message` may change. */
export class ApiError extends GatewayError {
    status;
    /** `code` of the payment API and of non-custodial payouts, `kind` of mass payouts. */
    code;
    /** More for a program, with some errors of payouts. */
    details;
    /** Seconds to wait before the next request, if the answer says so. */
    retryAfter;
    constructor(answer) {
        super(`${answer.code}: ${answer.message}`);
        this.status = answer.status;
        this.code = answer.code;
        this.details = answer.details;
        this.retryAfter = answer.retryAfter;
    }
}
/** 400, 413, 422: the request can never succeed as it is. */
export class InvalidRequestError extends ApiError {
}
/** 401: the API key is missing, malformed or unknown. */
export class AuthenticationError extends ApiError {
}
/** 403: the merchant is suspended. */
export class PermissionError extends ApiError {
}
/** 404: nothing of this merchant has that id. */
export class NotFoundError extends ApiError {
}
/** 409: the state does not allow it, or the idempotency key was used for another request. */
export class ConflictError extends ApiError {
}
/** 429: more than 60 requests within 60 seconds, and `Retry-After` was above `maxWait`. */
export class RateLimitError extends ApiError {
}
/** 429: too many open invoices. Repeating helps only after some have ended. */
export class QuotaError extends ApiError {
}
/** 5xx, and any answer that is not the gateway's. */
export class ServerError extends ApiError {
}
const BY_CODE = {
    RATE_LIMIT_EXCEEDED: RateLimitError,
    rate_limited: RateLimitError,
    QUOTA_EXCEEDED: QuotaError,
};
const BY_STATUS = {
    400: InvalidRequestError,
    401: AuthenticationError,
    403: PermissionError,
    404: NotFoundError,
    409: ConflictError,
    413: InvalidRequestError,
    422: InvalidRequestError,
    429: RateLimitError,
};
/** The three envelopes of the API, or something else that a proxy answered. */
export function refusal(status, text, retryAfter) {
    let body;
    try {
        body = JSON.parse(text);
    }
    catch {
        body = undefined;
    }
    const inner = typeof body?.error === 'object' && body.error !== null ? body.error : body;
    const code = inner?.kind ?? inner?.code;
    const answer = {
        status,
        code: typeof code === 'string' ? code : 'INTERNAL_ERROR',
        message: typeof inner?.message === 'string' ? inner.message : `HTTP ${status}`,
        details: inner?.details,
        retryAfter,
    };
    const kind = BY_CODE[answer.code] ?? BY_STATUS[status] ?? ServerError;
    return new kind(answer);
}
