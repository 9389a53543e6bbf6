import type { CallOptions, Transport } from './transport.js';
/** One way to pay, in version 2 of the protocol. */
export interface Accepts {
    scheme: string;
    network: string;
    amount: string;
    asset: string;
    payTo: string;
    maxTimeoutSeconds: number;
    extra: {
        name: string;
        version: string;
    };
}
/** One way to pay, in version 1. */
export interface AcceptsV1 {
    scheme: string;
    network: string;
    maxAmountRequired: string;
    asset: string;
    payTo: string;
    resource: string;
    description: string;
    mimeType: string;
    maxTimeoutSeconds: number;
    extra: {
        name: string;
        version: string;
    };
}
/** A resource that you sell to programs. */
export interface PaidResource {
    resource_id: string;
    url: string;
    description: string;
    mime_type: string;
    price_amount: string;
    price_currency: string;
    networks: string[];
    timeout_seconds: number;
    listed: boolean;
    pay_to: string;
    accepts: Accepts[];
    accepts_v1: AcceptsV1[];
    created_at: string;
}
export interface NewPaidResource {
    url: string;
    /** In USD, as text: `"0.01"`. */
    price_amount: string;
    description?: string;
    mime_type?: string;
    networks?: string[];
    timeout_seconds?: number;
    listed?: boolean;
}
/** What the gateway said of a payment. */
export interface Settlement {
    success: boolean;
    errorReason?: string;
    errorMessage?: string;
    payer?: string;
    transaction: string;
    network: string;
    amount?: string;
}
/** The outcome of one request: what to answer, or the payment that it came with. */
export type Charge = {
    paid: true;
    settlement: Settlement;
    headers: Record<string, string>;
} | {
    paid: false;
    status: 402;
    headers: Record<string, string>;
    body: string;
};
/** Payments of programs over HTTP (x402). */
export declare class X402 {
    #private;
    constructor(transport: Transport);
    /** Sells a resource: gives it an address, and the terms that programs are asked for. */
    create(resource: NewPaidResource, options?: CallOptions): Promise<PaidResource>;
    /** A resource by its `resource_id`. */
    get(id: string, options?: CallOptions): Promise<PaidResource>;
    /**
     * Charges one request for a resource. `header` reads a header of the request by its name. Deliver
     * only if `paid`, and add `headers` to what you answer. A payment that was used before, also at
     * another copy of your server, is none.
     */
    charge(id: string, header: (name: string) => string | null | undefined): Promise<Charge>;
}
/** The parts of requests and answers of Express and of Node's own server that are used. */
export interface PaidRequest {
    headers: Record<string, string | string[] | undefined>;
    /** The payment, for your handler. */
    payment?: Settlement;
}
export interface PaidResponse {
    statusCode: number;
    setHeader(name: string, value: string): unknown;
    end(text?: string): unknown;
}
/**
 * A middleware of Express that lets a request pass once it is paid for:
 * `app.get('/weather', requirePayment(gateway, 'pzx_…'), handler)`.
 */
export declare function requirePayment(gateway: {
    x402: X402;
}, resourceId: string): (request: PaidRequest, response: PaidResponse, next: (error?: unknown) => void) => void;
/** The same for handlers of `Request` and `Response` (Next, Hono, Deno, workers). */
export declare function paidFetch(gateway: {
    x402: X402;
}, resourceId: string, handler: (request: Request, payment: Settlement) => Response | Promise<Response>): (request: Request) => Promise<Response>;
