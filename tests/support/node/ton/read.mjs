// An account's transactions as TON's own client reads and checks them, as JSON. The client decodes each from its bytes.
// Usage: node read.mjs FOLDER URL ADDRESS
import { createRequire } from "node:module";

const [, , folder, endpoint, address] = process.argv;
const require = createRequire(`${folder}/`);
const { TonClient } = require("@ton/ton");
const { Address } = require("@ton/core");

const client = new TonClient({ endpoint });
const transactions = await client.getTransactions(Address.parse(address), { limit: 100 });
const read = transactions.map((tx) => {
  const { info } = tx.inMessage;
  return {
    hash: tx.hash().toString("hex"),
    value: info.type === "internal" ? String(info.value.coins) : null,
    aborted: tx.description.aborted,
    has_come_back: info.type === "internal" && info.bounced,
    goes_back: Boolean(tx.description.bouncePhase),
  };
});
console.log(JSON.stringify(read));
