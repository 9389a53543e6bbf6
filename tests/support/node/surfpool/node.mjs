// Starts surfpool, which is Solana's virtual machine and programs behind Solana's JSON-RPC, and serves it; its further methods,
// those of `acts`, make things happen on it with Solana's own client. Usage: node node.mjs FOLDER, where FOLDER/node_modules has
// the packages of scripts/surfpool.sh.
import { createServer } from "node:http";
import { createRequire } from "node:module";

const require = createRequire(`${process.argv[2]}/`);
const { Surfnet } = require("@solana/surfpool-linux-x64-gnu");
const { Connection, Keypair, PublicKey, SystemProgram, Transaction } = require("@solana/web3.js");
const token = require("@solana/spl-token");

const COIN = 1_000_000_000;
const DECIMALS = 6;
const PROGRAMS = { token: token.TOKEN_PROGRAM_ID, "token-2022": token.TOKEN_2022_PROGRAM_ID };
const SLOT_MS = 100;

const net = Surfnet.startWithConfig({ offline: true, blockProductionMode: "clock", slotTimeMs: SLOT_MS });
const connection = new Connection(net.rpcUrl, "confirmed");
const payer = Keypair.fromSecretKey(Uint8Array.from(net.payerSecretKey));
const stranger = Keypair.generate();
net.fundSol(payer.publicKey.toBase58(), 1_000_000 * COIN);
net.fundSol(stranger.publicKey.toBase58(), COIN);

/** Sends one transaction and waits until it is in a block. */
async function land(instructions, signers = [payer]) {
  const transaction = new Transaction();
  // Without it two equal payments would be one transaction.
  const { blockhash } = await connection.getLatestBlockhash();
  transaction.add(...instructions, mark());
  transaction.recentBlockhash = blockhash;
  transaction.feePayer = signers[0].publicKey;
  transaction.sign(...signers);
  const signature = await connection.sendRawTransaction(transaction.serialize(), { skipPreflight: true });
  for (let asked = 0; asked < 300; asked += 1) {
    const { value } = await connection.getSignatureStatuses([signature]);
    if (value[0]) return { signature, failed: value[0].err !== null };
    await new Promise((resolve) => setTimeout(resolve, SLOT_MS / 2));
  }
  throw new Error(`${signature} is in no block`);
}

let marks = 0;
const mark = () =>
  SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: payer.publicKey, lamports: (marks += 1) });

async function succeed(instructions, signers) {
  const { signature, failed } = await land(instructions, signers);
  if (failed) throw new Error(`${signature} failed`);
  return signature;
}

const holder = (mint, owner, program) => token.getAssociatedTokenAddressSync(mint, owner, true, program);

async function programOf(mint) {
  const found = await connection.getAccountInfo(mint);
  return found.owner;
}

const acts = {
  genesis: () => connection.getGenesisHash(),

  pay: ({ to, units }) =>
    succeed([SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: new PublicKey(to), lamports: BigInt(units) })]),

  /** Is in its block and failed, after a step that would have paid `to`. */
  async fail({ to }) {
    const pay = (lamports) =>
      SystemProgram.transfer({ fromPubkey: stranger.publicKey, toPubkey: new PublicKey(to), lamports });
    const { signature, failed } = await land([pay(COIN / 2), pay(5 * COIN)], [payer, stranger]);
    if (!failed) throw new Error("it did not fail");
    return signature;
  },

  /** A token whose mint is at `at`, made by its program and moved there; all of it is the payer's. */
  async mint({ at, program, feeBps }) {
    const owner = PROGRAMS[program];
    const made = Keypair.generate();
    const extensions = feeBps ? [token.ExtensionType.TransferFeeConfig] : [];
    const space = token.getMintLen(extensions);
    const lamports = await connection.getMinimumBalanceForRentExemption(space);
    const steps = [
      SystemProgram.createAccount({ fromPubkey: payer.publicKey, newAccountPubkey: made.publicKey, space, lamports, programId: owner }),
    ];
    if (feeBps) {
      const authority = payer.publicKey;
      steps.push(token.createInitializeTransferFeeConfigInstruction(made.publicKey, authority, authority, feeBps, 1n << 60n, owner));
    }
    steps.push(token.createInitializeMint2Instruction(made.publicKey, DECIMALS, payer.publicKey, null, owner));
    await succeed(steps, [payer, made]);
    const { data } = await connection.getAccountInfo(made.publicKey);
    net.setAccount(at, lamports, [...data], owner.toBase58());

    const mint = new PublicKey(at);
    const account = holder(mint, payer.publicKey, owner);
    await succeed([
      token.createAssociatedTokenAccountIdempotentInstruction(payer.publicKey, account, payer.publicKey, mint, owner),
      token.createMintToInstruction(mint, account, payer.publicKey, 1n << 50n, [], owner),
    ]);
    return at;
  },

  /** Opens the receiver's account if it has none, and pays into it, with the mint named or in the old way without. */
  async payToken({ mint, to, units, plain }) {
    const [key, owner] = [new PublicKey(mint), new PublicKey(to)];
    const program = await programOf(key);
    const [from, target] = [holder(key, payer.publicKey, program), holder(key, owner, program)];
    const transfer = plain
      ? token.createTransferInstruction(from, target, payer.publicKey, BigInt(units), [], program)
      : token.createTransferCheckedInstruction(from, key, target, payer.publicKey, BigInt(units), DECIMALS, [], program);
    return succeed([
      token.createAssociatedTokenAccountIdempotentInstruction(payer.publicKey, target, owner, key, program), transfer,
    ]);
  },

  /** Pays more than there is: it fails after the receiver's account was opened. */
  async failToken({ mint, to }) {
    const [key, owner] = [new PublicKey(mint), new PublicKey(to)];
    const program = await programOf(key);
    const [from, target] = [holder(key, stranger.publicKey, program), holder(key, owner, program)];
    const open = (account, whose) =>
      token.createAssociatedTokenAccountIdempotentInstruction(payer.publicKey, account, whose, key, program);
    const { signature, failed } = await land([
      open(from, stranger.publicKey), open(target, owner),
      token.createTransferCheckedInstruction(from, key, target, stranger.publicKey, 5n, DECIMALS, [], program),
    ], [payer, stranger]);
    if (!failed) throw new Error("it did not fail");
    return signature;
  },
};

/**
 * Surfpool's response. Surfpool invents its blocks' hashes and their parents, and those of blocks with transactions do not
 * match those of the empty ones around them: here they become one chain. The rest stays unchanged.
 */
async function surfpool(asked) {
  const headers = { "content-type": "application/json" };
  const reply = await (await fetch(net.rpcUrl, { method: "POST", headers, body: JSON.stringify(asked) })).json();
  if (asked.method === "getBlock" && reply.result) {
    const [slot] = asked.params;
    Object.assign(reply.result, { blockhash: `slot${slot}`, previousBlockhash: `slot${slot - 1}`, parentSlot: slot - 1 });
  }
  return reply;
}

async function answer(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const asked = JSON.parse(Buffer.concat(chunks));
  const { id, method, params } = asked;
  try {
    if (!acts[method]) return await surfpool(asked);
    return { jsonrpc: "2.0", id, result: await acts[method](params ?? {}) };
  } catch (error) {
    return { jsonrpc: "2.0", id, error: { code: -32000, message: String(error.stack ?? error) } };
  }
}

const server = createServer(async (request, response) => {
  const body = JSON.stringify(await answer(request));
  response.writeHead(200, { "content-type": "application/json" }).end(body);
});
server.listen(0, "127.0.0.1", () => console.log(`Listening on http://127.0.0.1:${server.address().port}`));
// The parent process closes our input when it ends in any way.
process.stdin.on("close", () => {
  net.stop();
  process.exit();
}).resume();
