// Prints the result of verify-ipn.mjs for each recorded delivery: node check.mjs recorded.json
import { readFileSync } from 'node:fs';
import { Refused, verifyIpn } from './verify-ipn.mjs';

const { secret, deliveries } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const seen = new Set();
const remember = async (key) => !seen.has(key) && Boolean(seen.add(key));

for (const { name, body, signature, received_at: now } of deliveries) {
  let verdict;
  try {
    const rawBody = Buffer.from(body);
    const { payment, notice, renewal } = await verifyIpn({ rawBody, signature, secret, remember, now });
    verdict = 'duplicate';
    if (payment) verdict = `accepted ${payment.payment_status}`;
    if (notice) verdict = `notice ${notice._gateway.notice.type} ${notice.payment_status}`;
    if (renewal) verdict = `renewal ${renewal._gateway.renewal.day_offset} ${renewal.payment_status}`;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    verdict = error.message;
  }
  console.log(`${name}: ${verdict}`);
}
