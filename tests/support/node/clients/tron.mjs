// Reads a TRON node up to its head with tronweb: tron.mjs MODULES URL
import { createRequire } from "node:module";

const [modules, url] = process.argv.slice(2);
const { TronWeb } = createRequire(modules + "/")("tronweb");

const tron = new TronWeb({ fullHost: url });
const head = await tron.trx.getCurrentBlock();
const blocks = [];
for (let height = 0; height <= head.block_header.raw_data.number; height++) {
  const block = await tron.trx.getBlockByNumber(height);
  const transactions = [];
  for (const transaction of block.transactions ?? []) {
    const [contract] = transaction.raw_data.contract;
    const { value } = contract.parameter;
    const info = await tron.trx.getTransactionInfo(transaction.txID);
    // Encodes the transaction anew and compares its hash.
    const isTrue = tron.utils.transaction.txCheck(transaction);
    transactions.push({
      id: transaction.txID,
      isTrue,
      kind: contract.type,
      result: transaction.ret[0].contractRet,
      to: value.to_address && TronWeb.address.fromHex(value.to_address),
      amount: value.amount,
      height: info.blockNumber,
      tokens: (info.log ?? []).map((log) => ({
        contract: TronWeb.address.fromHex("41" + log.address),
        topics: log.topics.length,
        to: TronWeb.address.fromHex("41" + (log.topics[2] ?? "").slice(24)),
        amount: BigInt("0x" + log.data).toString(),
      })),
      internals: (info.internal_transactions ?? []).map((internal) => ({
        to: TronWeb.address.fromHex(internal.transferTo_address),
        amount: internal.callValueInfo[0].callValue ?? 0,
        note: Buffer.from(internal.note, "hex").toString(),
        rejected: internal.rejected ?? false,
      })),
    });
  }
  blocks.push({
    height: block.block_header.raw_data.number ?? 0,
    id: block.blockID,
    parent: block.block_header.raw_data.parentHash,
    transactions,
  });
}
console.log(JSON.stringify({ blocks }));
