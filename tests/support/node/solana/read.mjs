// A block as Solana's own client reads and checks it, as JSON: the gain of each account in each transaction.
// Usage: node read.mjs FOLDER URL SLOT
import { createRequire } from "node:module";

const [, , folder, endpoint, slot] = process.argv;
const require = createRequire(`${folder}/`);
const { Connection } = require("@solana/web3.js");

const connection = new Connection(endpoint, "finalized");
const options = { transactionDetails: "accounts", rewards: false, maxSupportedTransactionVersion: 255 };
const block = await connection.getBlock(Number(slot), options);
const read = block.transactions.map(({ meta, transaction }) => ({
  signature: transaction.signatures[0],
  failed: meta.err !== null,
  gained: Object.fromEntries(transaction.accountKeys.map(({ pubkey }, place) => [
    pubkey.toBase58(), String(meta.postBalances[place] - meta.preBalances[place]),
  ])),
}));
console.log(JSON.stringify({ parent_slot: block.parentSlot, hash: block.blockhash, transactions: read }));
