// Serves `Chain` as Solana's JSON-RPC; its further methods make things happen on it. Needs no package, so that the server
// and the client that checks it (`read.mjs`) share nothing. Usage: node node.mjs
import { createServer } from "node:http";

import { Chain } from "./chain.mjs";

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

function base58(bytes) {
  let [number, text] = [BigInt(`0x${bytes.toString("hex")}`), ""];
  for (; number > 0n; number /= 58n) text = ALPHABET[Number(number % 58n)] + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return "1".repeat(Math.max(zeros, 0)) + text;
}

const chain = new Chain(base58);
// Makes a token, a block, …: no node has these.
const ACTS = ["pay", "mint", "payToken", "fail", "noise", "mine", "forget", "hold"];

function answer({ id, method, params }) {
  try {
    const found = ACTS.includes(method) ? { result: chain[method](params ?? {}) } : chain.answer(method, params);
    return { jsonrpc: "2.0", id, ...found };
  } catch (error) {
    return { jsonrpc: "2.0", id, error: { code: -32000, message: String(error.stack ?? error) } };
  }
}

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const asked = JSON.parse(Buffer.concat(chunks));
  const body = JSON.stringify(Array.isArray(asked) ? asked.map(answer) : answer(asked));
  response.writeHead(200, { "content-type": "application/json" }).end(body);
});
server.listen(0, "127.0.0.1", () => console.log(`Listening on http://127.0.0.1:${server.address().port}`));
// The parent process closes our input when it ends in any way.
process.stdin.on("close", () => process.exit()).resume();
