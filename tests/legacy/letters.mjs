// Reads IPNs, one JSON object a line, and verifies each twice: over its raw bytes, and over what its
// parsed fields are when they are encoded again, which is how npm coinpayments-ipn verifies.
import { createHmac } from 'node:crypto';
import { createInterface } from 'node:readline';
import { parse } from 'node:querystring';

const encoded = (text) => encodeURIComponent(text).replace(/%20/g, '+');

let verified = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const { body, hmac, secret, fields } = JSON.parse(line);
  const signed = (bytes) => createHmac('sha512', secret).update(bytes).digest('hex');
  const parsed = Object.entries(parse(body));
  const again = parsed.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&');
  const same = JSON.stringify(parsed) === JSON.stringify(fields);
  if (signed(body) !== hmac || signed(again) !== hmac || !same) {
    console.error(body, again, fields);
    process.exit(1);
  }
  verified += 1;
}
console.log(verified);
