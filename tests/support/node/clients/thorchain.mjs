// Reads a CometBFT node up to its head with the client of CosmJS: thorchain.mjs MODULES URL
import { createHash } from "node:crypto";
import { createRequire } from "node:module";

const [modules, url] = process.argv.slice(2);
const { Comet38Client } = createRequire(modules + "/")("@cosmjs/tendermint-rpc");

const client = await Comet38Client.connect(url);
const status = await client.status();
const upper = (bytes) => Buffer.from(bytes).toString("hex").toUpperCase();
const transfers = (events) =>
  events
    .filter((event) => event.type === "transfer")
    .map((event) => Object.fromEntries(event.attributes.map(({ key, value }) => [key, value])));

const blocks = [];
for (let height = 1; height <= status.syncInfo.latestBlockHeight; height++) {
  const { blockId, block } = await client.block(height);
  const results = await client.blockResults(height);
  blocks.push({
    height: block.header.height,
    hash: upper(blockId.hash),
    parent: block.header.lastBlockId ? upper(block.header.lastBlockId.hash) : "",
    chain: block.header.chainId,
    transactions: block.txs.map((tx, place) => ({
      hash: createHash("sha256").update(tx).digest("hex").toUpperCase(),
      code: results.results[place].code,
      transfers: transfers(results.results[place].events),
    })),
    ofBlock: transfers(results.finalizeBlockEvents),
  });
}
console.log(JSON.stringify({ network: status.nodeInfo.network, blocks }));
