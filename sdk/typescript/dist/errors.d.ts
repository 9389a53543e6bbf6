import type { ErrorCode } from './contract.js';
/** Anything that this library throws, but for wrong arguments (`TypeError`). */
export declare class GatewayError extends Error {
    constructor(message: string, options?: ErrorOptions);
}
/** No answer came, in all attempts. What was asked for may have happened. */
export declare class ConnectionError extends GatewayError {
    /** Repeat a create with this key, and it happens once. */
    readonly idempotencyKey: string | undefined;
    constructor(message: string, idempotencyKey: string | undefined, cause: unknown);
}
/** An answer that is an error. Branch on `code`; `message` may change. */
export declare class ApiError extends GatewayError {
    readonly status: number;
    /** `code` of the payment API and of non-custodial payouts, `kind` of mass payouts. */
    readonly code: ErrorCode | (string & {});
    /** More for a program, with some errors of payouts. */
    readonly details: unknown;
    /** Seconds to wait before the next request, if the answer says so. */
    readonly retryAfter: number | undefined;
    constructor(answer: Refusal);
}
/** 400, 413, 422: the request can never succeed as it is. */
export declare class InvalidRequestError extends ApiError {
}
/** 401: the API key is missing, malformed or unknown. */
export declare class AuthenticationError extends ApiError {
}
/** 403: the merchant is suspended. */
export declare class PermissionError extends ApiError {
}
/** 404: nothing of this merchant has that id. */
export declare class NotFoundError extends ApiError {
}
/** 409: the state does not allow it, or the idempotency key was used for another request. */
export declare class ConflictError extends ApiError {
}
/** 429: more than 60 requests within 60 seconds, and `Retry-After` was above `maxWait`. */
export declare class RateLimitError extends ApiError {
}
/** 429: too many open invoices. Repeating helps only after some have ended. */
export declare class QuotaError extends ApiError {
}
/** 5xx, and any answer that is not the gateway's. */
export declare class ServerError extends ApiError {
}
export interface Refusal {
    status: number;
    code: string;
    message: string;
    details?: unknown;
    retryAfter: number | undefined;
}
/** The three envelopes of the API, or something else that a proxy answered. */
export declare function refusal(status: number, text: string, retryAfter: number | undefined): ApiError;
