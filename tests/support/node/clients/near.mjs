// Reads blocks of a neardata server with the schemas that NEAR generates from nearcore:
// near.mjs MODULES URL FIRST LAST
import { createRequire } from "node:module";

const [modules, url, first, last] = process.argv.slice(2);
const schemas = createRequire(modules + "/")("@near-js/jsonrpc-types");

// The schemas name fields as JavaScript does; variants begin with a capital and stay as they are.
function camel(value) {
  if (Array.isArray(value)) return value.map(camel);
  if (value === null || typeof value !== "object") return value;
  const renamed = Object.entries(value).map(([name, inner]) => [
    name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()),
    camel(inner),
  ]);
  return Object.fromEntries(renamed);
}

const blocks = [];
for (let height = Number(first); height <= Number(last); height++) {
  const document = camel(await (await fetch(`${url}/v0/block/${height}`)).json());
  if (document === null) {
    blocks.push({ height, skipped: true });
    continue;
  }
  const { header } = schemas.RpcBlockResponseSchema().parse(document.block);
  const receipts = [];
  for (const shard of document.shards) {
    if (shard.chunk !== null) schemas.RpcChunkResponseSchema().parse(shard.chunk);
    for (const execution of shard.receiptExecutionOutcomes) {
      const outcome = schemas.ExecutionOutcomeWithIdViewSchema().parse(execution.executionOutcome);
      const receipt = schemas.ReceiptViewSchema().parse(execution.receipt);
      receipts.push({
        id: receipt.receiptId,
        from: receipt.predecessorId,
        to: receipt.receiverId,
        succeeded: "SuccessValue" in outcome.outcome.status,
        deposits: receipt.receipt.Action.actions.map((action) => action.Transfer?.deposit ?? null),
        logs: outcome.outcome.logs,
      });
    }
  }
  blocks.push({
    height: header.height,
    hash: header.hash,
    parent: header.prevHash,
    parentHeight: header.prevHeight,
    receipts,
  });
}
console.log(JSON.stringify({ blocks }));
