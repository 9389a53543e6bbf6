export interface GatewayOptions {
    /** The gateway's address, without `/v1`. */
    baseUrl: string;
    /** Needed for everything but currencies, estimates, minimums and the buyer's status. */
    apiKey?: string;
    /** Milliseconds of one attempt, 30,000 if absent. */
    timeout?: number;
    /** Milliseconds after which a call is not attempted again, 60,000 if absent. */
    retryFor?: number;
    /** Milliseconds of `Retry-After` that a call may spend waiting, 5,000 if absent. */
    maxWait?: number;
    /** Instead of the platform's own. */
    fetch?: typeof fetch;
    /** Instead of a timer, for tests. */
    sleep?: (milliseconds: number) => Promise<void>;
}
export interface CallOptions {
    signal?: AbortSignal;
    maxWait?: number;
}
export interface CreateOptions extends CallOptions {
    /** A random one if absent. Name your own, the order's for example, to be safe over restarts too. */
    idempotencyKey?: string;
}
export interface Request {
    method: 'GET' | 'POST';
    path: string;
    query?: object;
    body?: string;
    contentType?: string;
    idempotencyKey?: string;
    /** Amounts are exact strings only in answers about payments; all others have none as numbers. */
    answer?: 'payment' | 'payout' | 'text';
    /** Gets the headers of the answer. */
    seen?: (headers: Headers) => void;
}
/** Reading a long list may wait for the next minute's requests. */
export declare const PATIENT = 90000;
export declare class Transport {
    #private;
    constructor(options: GatewayOptions);
    sleep(milliseconds: number): Promise<void>;
    /** Sends a request until it is answered. Every request of this library can be sent twice. */
    send<T>(request: Request, options?: CallOptions): Promise<T>;
}
export interface Page<T> {
    data: T[];
    limit: number;
    page: number;
    pagesCount: number;
    total: number;
}
/**
 * Items of all pages. New items move others onto the next page while it is read, so those of the
 * page before are left out when they come again.
 */
export declare function items<T>(read: (page: number) => Promise<Page<T>>, id: (item: T) => string): AsyncGenerator<T, void, void>;
