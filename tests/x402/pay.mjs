// Pays for an address by a published client of x402, unchanged, and prints what came of it.
//
//   pay.mjs fetch|fetch-v1 URL NETWORK     NODE_MODULES, PAYER_KEY (0x…) and RPC_URL in the environment
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [client, url, network] = process.argv.slice(2);
const require = createRequire(`${process.env.NODE_MODULES}/x`);
const load = async (name) => import(pathToFileURL(require.resolve(name)));

const { privateKeyToAccount } = await load('viem/accounts');
const account = privateKeyToAccount(process.env.PAYER_KEY);
let pay;
if (client === 'fetch') {
  const { wrapFetchWithPaymentFromConfig } = await load('@x402/fetch');
  const { ExactEvmScheme } = await load('@x402/evm');
  pay = wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network, client: new ExactEvmScheme(account) }] });
} else {
  const { wrapFetchWithPayment } = await load('x402-fetch');
  const { createWalletClient, http } = await load('viem');
  const chain = (await load('viem/chains'))[network];
  const wallet = createWalletClient({ account, chain, transport: http(process.env.RPC_URL) });
  pay = wrapFetchWithPayment(fetch, wallet, 1_000_000n);
}
const answer = await pay(url);
const header = answer.headers.get('payment-response') ?? answer.headers.get('x-payment-response');
const settlement = header && JSON.parse(Buffer.from(header, 'base64').toString());
console.log(JSON.stringify({ status: answer.status, settlement, body: await answer.text() }));
