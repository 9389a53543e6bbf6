import { AMOUNT_FIELDS } from './contract.js';
// Every text in JSON, with the number that follows it if it is a key. Texts are matched whole, so
// nothing inside one is taken for a key.
const TEXTS = /"((?:[^"\\]|\\.)*)"(\s*:\s*)?(-?\d[\d.eE+-]*)?/g;
/** Parses JSON with amounts as the decimal strings that were sent: a double has 15 digits. */
export function parseExact(json) {
    return JSON.parse(json.replace(TEXTS, (all, key, colon, digits) => colon && digits && AMOUNT_FIELDS.has(key) ? `"${key}":"${digits}"` : all));
}
const DECIMAL = /^\d+(\.\d+)?$/;
/** Writes a body whose `price_amount` is a decimal string as the JSON number with its digits. */
export function writeExact(body) {
    const { price_amount: amount, ...rest } = body;
    if (typeof amount !== 'string' || !DECIMAL.test(amount)) {
        throw new TypeError('price_amount is a decimal string, like "25.10"');
    }
    return `{"price_amount":${amount},${JSON.stringify(rest).slice(1)}`;
}
