// Prints the result of verify-payout-webhook.mjs for each recorded delivery: node check.mjs recorded.json
import { readFileSync } from 'node:fs';
import { Refused, verifyPayoutWebhook } from './verify-payout-webhook.mjs';

const { secret, deliveries } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const seen = new Set();
const remember = async (id) => !seen.has(id) && Boolean(seen.add(id));

for (const { name, body, signature, received_at: now } of deliveries) {
  let verdict;
  try {
    const event = await verifyPayoutWebhook({ rawBody: Buffer.from(body), signature, secret, remember, now });
    verdict = event ? `accepted ${event.eventType} ${event.order.state}` : 'duplicate';
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    verdict = error.message;
  }
  console.log(`${name}: ${verdict}`);
}
