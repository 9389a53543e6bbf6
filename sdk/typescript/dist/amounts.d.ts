/** Parses JSON with amounts as the decimal strings that were sent: a double has 15 digits. */
export declare function parseExact(json: string): unknown;
/** Writes a body whose `price_amount` is a decimal string as the JSON number with its digits. */
export declare function writeExact(body: {
    price_amount: string;
}): string;
