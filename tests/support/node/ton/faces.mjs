// Toncenter's view of a chain: its API v3, which the gateway reads, and the part of its older v2 that `TonClient` uses.

import { shardOf } from "./chain.mjs";

const upper = (address) => (address ? address.toRawString().toUpperCase() : null);
const text = (number) => (number === undefined || number === null ? null : String(number));
const boc = (cell) => cell.toBoc().toString("base64");
const PHASE = { ok: "ok", "no-funds": "nofunds", "negative-funds": "negfunds" };

function message({ info, body }) {
  const inside = info.type === "internal";
  return {
    source: upper(info.type === "external-in" ? null : info.src),
    destination: upper(info.type === "external-out" ? null : info.dest),
    value: inside ? text(info.value.coins) : null,
    fwd_fee: inside ? text(info.forwardFee) : null,
    ihr_fee: inside ? text(info.ihrFee) : null,
    created_lt: inside ? text(info.createdLt) : null,
    created_at: inside ? text(info.createdAt) : null,
    bounce: inside ? info.bounce : null,
    bounced: inside ? info.bounced : null,
    message_content: { hash: body.hash().toString("base64"), body: boc(body), decoded: null },
    init_state: null,
  };
}

function description({ aborted, destroyed, creditFirst, computePhase, actionPhase, bouncePhase }) {
  const skipped = computePhase.type === "skipped";
  return {
    type: "ord", aborted, destroyed, credit_first: creditFirst,
    compute_ph: skipped
      ? { skipped, reason: computePhase.reason }
      : { skipped, success: computePhase.success, exit_code: computePhase.exitCode },
    ...(actionPhase ? { action: { success: actionPhase.success } } : {}),
    ...(bouncePhase ? { bounce: { type: PHASE[bouncePhase.type] } } : {}),
  };
}

const account = (tx) => `0:${tx.address.toString(16).padStart(64, "0").toUpperCase()}`;

const transaction = (seqno) => (tx) => ({
  account: account(tx),
  hash: tx.hash().toString("base64"),
  lt: text(tx.lt),
  now: tx.now,
  mc_block_seqno: seqno,
  block_ref: { workchain: 0, shard: shardOf(tx), seqno },
  description: description(tx.description),
  in_msg: tx.inMessage ? message(tx.inMessage) : null,
  out_msgs: tx.outMessages.values().map(message),
});

const ELECTOR = `-1:${"3".repeat(64)}`;

const tick = (seqno) => ({ hash, now }) => ({
  account: ELECTOR, hash, lt: text(seqno), now, mc_block_seqno: seqno,
  block_ref: { workchain: -1, shard: "8000000000000000", seqno },
  description: { type: "tick_tock", is_tock: false, aborted: false },
  in_msg: null, out_msgs: [],
});

/** All under one masterchain block. */
function transactions(chain, block) {
  const { seqno } = block;
  return [...block.transactions.map(transaction(seqno)), ...chain.ticks(seqno).map(tick(seqno))];
}

/** API v3 by path; `null` where there is no such thing. */
export async function v3(chain, path, query) {
  const at = (name) => Number(query.get(name) ?? 0);
  const page = (rows) => rows.slice(at("offset"), at("offset") + Number(query.get("limit") ?? 10));
  const block = chain.blocks[at("seqno")];
  switch (path) {
    case "masterchainInfo":
      return { last: chain.wireBlocks(chain.blocks.at(-1))[0], first: chain.wireBlocks(chain.blocks[0])[0] };
    case "blocks":
      return { blocks: page((block ? chain.wireBlocks(block) : []).filter(({ workchain, shard }) =>
        query.get("workchain") === String(workchain) && query.get("shard") === shard)) };
    case "masterchainBlockShards":
      return block ? { blocks: page(chain.wireBlocks(block)) } : null;
    case "transactionsByMasterchainBlock":
      return { transactions: page(block ? transactions(chain, block) : []), address_book: {} };
    case "transactions": {
      const spelt = (hash) => [hash.toString("base64"), hash.toString("base64url"), hash.toString("hex")];
      const found = chain.blocks.flatMap((mined, seqno) =>
        mined.transactions.filter((tx) => spelt(tx.hash()).includes(query.get("hash"))).map(transaction(seqno)));
      return { transactions: page(found), address_book: {} };
    }
    case "accountStates": {
      const found = await Promise.all(query.getAll("address").map((address) => chain.account(address)));
      return { accounts: found.filter((account) => account !== null), address_book: {} };
    }
    case "jetton/wallets": {
      const named = query.getAll("address");
      for (const owner of query.getAll("owner_address")) {
        for (const master of query.getAll("jetton_address")) named.push(await chain.holderOf(master, owner));
      }
      const found = await Promise.all(named.map((address) => chain.confirmedHolder(address)));
      return { jetton_wallets: page(found.filter((holder) => holder !== null)), address_book: {}, metadata: {} };
    }
    default:
      return null;
  }
}

const v2Message = ({ info, body }) => ({
  "@type": "raw.message",
  source: info.type === "external-in" ? "" : info.src.toString(),
  destination: info.type === "external-out" ? "" : info.dest.toString(),
  value: text(info.type === "internal" ? info.value.coins : 0),
  fwd_fee: text(info.forwardFee ?? 0), ihr_fee: text(info.ihrFee ?? 0), created_lt: text(info.createdLt ?? 0),
  body_hash: body.hash().toString("base64"),
  msg_data: { "@type": "msg.dataRaw", body: boc(body), init_state: "" },
});

/** The newest transactions of one account, in v2's words. */
export function v2Transactions(chain, { address, limit }) {
  const wanted = upper(chain.address(address));
  const mined = chain.blocks.flatMap((block) => block.transactions).filter((tx) => account(tx) === wanted);
  return mined.reverse().slice(0, limit ?? 10).map((tx) => ({
    "@type": "raw.transaction",
    utime: tx.now,
    data: boc(tx.raw),
    transaction_id: { "@type": "internal.transactionId", lt: text(tx.lt), hash: tx.hash().toString("base64") },
    fee: text(tx.totalFees.coins), storage_fee: "0", other_fee: text(tx.totalFees.coins),
    in_msg: tx.inMessage ? v2Message(tx.inMessage) : undefined,
    out_msgs: tx.outMessages.values().map(v2Message),
  }));
}
