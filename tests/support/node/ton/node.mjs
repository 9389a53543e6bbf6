// Serves a private TON shaped like toncenter, and makes things happen on it: POST / takes JSON-RPC, a method of `Chain`
// each. Usage: node node.mjs FOLDER, where FOLDER/node_modules has the packages of scripts/ton-sandbox.sh.
import { createServer } from "node:http";
import { createRequire } from "node:module";

import { Chain } from "./chain.mjs";
import { v2Transactions, v3 } from "./faces.mjs";

const require = createRequire(`${process.argv[2]}/`);
const chain = await Chain.start({ core: require("@ton/core"), sandbox: require("@ton/sandbox") });

const ACTS = ["pay", "token", "payToken", "forgeToken", "noise", "mine", "forget"];

async function call({ method, params }) {
  if (ACTS.includes(method)) return chain[method](params ?? {});
  if (method === "getTransactions") return v2Transactions(chain, params);
  throw new Error(`no method ${method}`);
}

async function answer(request) {
  const url = new URL(request.url, "http://node");
  if (request.method === "GET") {
    const found = url.pathname.startsWith("/api/v3/") ? await v3(chain, url.pathname.slice(8), url.searchParams) : null;
    return found ? [200, found] : [404, { error: "not found" }];
  }
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const asked = JSON.parse(Buffer.concat(chunks));
  try {
    const result = await call(asked);
    return [200, { jsonrpc: "2.0", id: asked.id, ok: true, result }];
  } catch (error) {
    return [200, { jsonrpc: "2.0", id: asked.id, ok: false, error: String(error.stack ?? error) }];
  }
}

// One after the other: the virtual machine is one.
let last = Promise.resolve();
const server = createServer((request, response) => {
  last = last.then(async () => {
    const [status, body] = await answer(request).catch((error) => [500, { error: String(error) }]);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
});
server.listen(0, "127.0.0.1", () => console.log(`Listening on http://127.0.0.1:${server.address().port}`));
// The parent process closes our input when it ends in any way.
process.stdin.on("close", () => process.exit()).resume();
