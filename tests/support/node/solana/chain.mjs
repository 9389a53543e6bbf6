// The balances of a Solana cluster, without its virtual machine: changed as the runtime and the
// token program would, and reported in the format of `getBlock`. Blocks only on request.
import { createHash, randomBytes } from "node:crypto";

const GENESIS = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d";
const GENESIS_TIME = 1_760_000_000;
const COIN = 1_000_000_000n;
const [SYSTEM, TOKEN] = ["11111111111111111111111111111111", "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"];
const [FEE, TOKEN_ACCOUNT_RENT] = [5000n, 2_039_280n];
/// Every so many blocks, so many slots pass without one.
const [SKIP_EVERY, SKIP] = [3, 2];

export class Chain {
  constructor(encode) {
    this.encode = encode;
    this.lamports = new Map();
    /// By account: { mint, owner, amount }.
    this.tokens = new Map();
    /** By mint: how many decimals it has. */
    this.mints = new Map();
    /** By slot: state after its block. */
    this.states = new Map();
    [this.payer, this.stranger, this.voter] = [this.key(), this.key(), this.key()];
    this.lamports.set(this.payer, 1_000_000n * COIN).set(this.stranger, COIN).set(this.voter, COIN);
    [this.blocks, this.slot, this.waiting] = [new Map(), -1, []];
    /** How many of the newest blocks are confirmed and not final yet. */
    this.unfinal = 0;
    this.mine();
  }

  key() {
    return this.encode(randomBytes(32));
  }

  /** The account that holds an owner's tokens of one mint: as on the network, the same for the same two. */
  holder(mint, owner) {
    return this.encode(createHash("sha256").update(`${mint} of ${owner}`).digest());
  }

  amount(mint, amount) {
    return { amount, decimals: this.mints.get(mint), uiAmount: null, uiAmountString: amount };
  }

  holdings(keys) {
    const tokens = keys.flatMap((key, accountIndex) => {
      const held = this.tokens.get(key);
      if (!held) return [];
      const amount = String(held.amount);
      const uiTokenAmount = this.amount(held.mint, amount);
      return [{ accountIndex, mint: held.mint, owner: held.owner, programId: TOKEN, uiTokenAmount }];
    });
    return { lamports: keys.map((key) => Number(this.lamports.get(key) ?? 0n)), tokens };
  }

  /** One transaction over `accounts`, whose first pays the fee; all its steps are done, or none if one throws. */
  run(accounts, steps) {
    const keys = [...new Set([...accounts, SYSTEM, TOKEN])];
    const before = this.holdings(keys);
    this.add(keys[0], -FEE);
    const [lamports, tokens] = [new Map(this.lamports), structuredClone(this.tokens)];
    let err = null;
    steps.forEach((step, place) => {
      if (err) return;
      try {
        step();
      } catch {
        err = { InstructionError: [place, { Custom: 1 }] };
        [this.lamports, this.tokens] = [lamports, tokens];
      }
    });
    const after = this.holdings(keys);
    const signature = this.encode(randomBytes(64));
    this.waiting.push({
      meta: {
        err, status: err ? { Err: err } : { Ok: null }, fee: Number(FEE),
        preBalances: before.lamports, postBalances: after.lamports,
        preTokenBalances: before.tokens, postTokenBalances: after.tokens,
      },
      transaction: {
        accountKeys: keys.map((pubkey, place) => ({
          pubkey, signer: place === 0, source: "transaction", writable: ![SYSTEM, TOKEN].includes(pubkey),
        })),
        signatures: [signature],
      },
      // Of the newest kind there is. Its accounts and balances are reported as usual.
      version: 1,
    });
    return { signature, failed: err !== null };
  }

  add(key, lamports) {
    const left = (this.lamports.get(key) ?? 0n) + lamports;
    if (left < 0n) throw new Error("insufficient lamports");
    this.lamports.set(key, left);
  }

  move(from, to, lamports) {
    this.add(from, -lamports);
    this.add(to, lamports);
  }

  open(mint, owner, payer) {
    const account = this.holder(mint, owner);
    if (this.tokens.has(account)) return;
    this.move(payer, account, TOKEN_ACCOUNT_RENT);
    this.tokens.set(account, { mint, owner, amount: 0n });
  }

  moveToken(mint, from, to, units) {
    const [source, target] = [from, to].map((owner) => this.tokens.get(this.holder(mint, owner)));
    if (source.amount < units) throw new Error("insufficient tokens");
    source.amount -= units;
    target.amount += units;
  }

  succeed({ signature, failed }) {
    if (failed) throw new Error("the payment failed");
    return signature;
  }

  /** Pays every output in one transaction. */
  pay({ outputs }) {
    const steps = outputs.map(({ to, units }) => () => this.move(this.payer, to, BigInt(units)));
    return this.succeed(this.run([this.payer, ...outputs.map(({ to }) => to)], steps));
  }

  /** A new token, all of it in the payer's hands; its mint may be an address of the caller's. */
  mint({ at, decimals }) {
    const mint = at ?? this.key();
    this.mints.set(mint, decimals ?? 6);
    this.tokens.set(this.holder(mint, this.payer), { mint, owner: this.payer, amount: (1n << 64n) - 1n });
    return mint;
  }

  tokenAccounts(mint, from, outputs) {
    return [from, this.holder(mint, from), mint, ...outputs.flatMap(({ to }) => [to, this.holder(mint, to)])];
  }

  /** Pays every output in one transaction, opening the receivers' token accounts. */
  payToken({ mint, outputs }) {
    const steps = outputs.flatMap(({ to, units }) => [
      () => this.open(mint, to, this.payer), () => this.moveToken(mint, this.payer, to, BigInt(units)),
    ]);
    return this.succeed(this.run(this.tokenAccounts(mint, this.payer, outputs), steps));
  }

  /** Is in its block and failed: its last step sends more than there is, after others that would have paid `to`. */
  fail({ mint, to = this.key() }) {
    const coins = () => this.move(this.stranger, to, 1000n);
    const steps = mint
      ? [() => this.open(mint, this.stranger, this.stranger), () => this.open(mint, to, this.stranger), coins,
        () => this.moveToken(mint, this.stranger, to, 1n)]
      : [coins, () => this.move(this.stranger, to, 5n * COIN)];
    const accounts = mint ? this.tokenAccounts(mint, this.stranger, [{ to }]) : [this.stranger, to];
    const { signature, failed } = this.run(accounts, steps);
    if (!failed) throw new Error("it did not fail");
    return signature;
  }

  /** Transactions that look like a payment to `to` but are none. */
  noise({ mint, to }) {
    this.fail({ to });
    this.fail({ mint, to });
    // Names the address and moves nothing; opens a token account for it and leaves it empty.
    this.pay({ outputs: [{ to, units: "0" }] });
    this.payToken({ mint, outputs: [{ to, units: "0" }] });
    // Pays it and takes everything back, as its own key could.
    this.run([this.payer, to], [() => this.move(this.payer, to, 7n), () => this.move(to, this.payer, 7n)]);
    return null;
  }

  /** The waiting transactions and, as in every block of a live cluster, a vote. */
  mine() {
    this.run([this.voter], []);
    const parent = this.blocks.get(this.slot);
    this.slot += this.blocks.size % SKIP_EVERY === SKIP_EVERY - 1 ? SKIP + 1 : 1;
    const previousBlockhash = parent?.blockhash ?? SYSTEM;
    const content = this.waiting.map(({ transaction }) => transaction.signatures[0]);
    const seed = `${this.slot} after ${previousBlockhash} with ${content}`;
    const blockhash = this.encode(createHash("sha256").update(seed).digest());
    this.blocks.set(this.slot, {
      blockhash, previousBlockhash, parentSlot: parent?.slot ?? 0, slot: this.slot,
      blockHeight: this.blocks.size, blockTime: GENESIS_TIME + this.slot, transactions: this.waiting,
    });
    this.waiting = [];
    this.states.set(this.slot, { lamports: new Map(this.lamports), tokens: structuredClone(this.tokens) });
    return this.slot;
  }

  /** As another node that has not got the newest blocks yet. */
  forget({ blocks }) {
    for (const slot of [...this.blocks.keys()].slice(-blocks)) this.blocks.delete(slot);
    this.slot = Math.max(...this.blocks.keys());
    return this.slot;
  }

  /** From now on the newest `blocks` are not final. */
  hold({ blocks }) {
    this.unfinal = blocks;
    return null;
  }

  /** The slots with a block that have reached the commitment; without one, it is that of final blocks. */
  reached(commitment = "finalized") {
    const slots = [...this.blocks.keys()];
    return commitment === "finalized" ? slots.slice(0, slots.length - this.unfinal) : slots;
  }

  newest(commitment) {
    return this.reached(commitment).at(-1);
  }

  /** The node's own methods; an error is a code and a message, as the node has them. */
  answer(method, params) {
    switch (method) {
      case "getGenesisHash":
        return { result: GENESIS };
      case "getSlot":
        return { result: this.newest(params[0]?.commitment) };
      case "getBlocksWithLimit":
        return { result: this.reached(params[2]?.commitment).filter((slot) => slot >= params[0]).slice(0, params[1]) };
      case "getBlock":
        return this.block(...params);
      case "getBalance":
        return this.finalized(params[1], ({ lamports }) => Number(lamports.get(params[0]) ?? 0n));
      case "getTokenAccountsByOwner":
        return this.finalized(params[2], ({ tokens }) => this.ofOwner(tokens, params[0], params[1].mint), params[1].mint);
      case "getTokenSupply":
        return this.finalized(params[1], () => this.amount(params[0], "0"), params[0]);
      case "getSignatureStatuses":
        return { result: { context: { slot: this.newest() }, value: params[0].map((signature) => this.status(signature)) } };
      default:
        return { error: { code: -32601, message: "Method not found" } };
    }
  }

  /** An answer from the newest block, which must be no lower than the caller wants, about a mint that must be there. */
  finalized({ minContextSlot = 0 }, read, mint) {
    const newest = this.newest();
    if (newest < minContextSlot) return { error: { code: -32016, message: "Minimum context slot has not been reached" } };
    if (mint && !this.mints.has(mint)) return { error: { code: -32602, message: "Invalid param: could not find mint" } };
    const context = { apiVersion: "3.0.0", slot: newest };
    return { result: { context, value: read(this.states.get(newest)) } };
  }

  ofOwner(tokens, owner, mint) {
    const own = [...tokens].filter(([, held]) => held.owner === owner && held.mint === mint);
    return own.map(([pubkey, { amount }]) => {
      const info = { isNative: false, mint, owner, state: "initialized", tokenAmount: this.amount(mint, String(amount)) };
      const data = { program: "spl-token", parsed: { info, type: "account" }, space: 165 };
      const account = { lamports: Number(TOKEN_ACCOUNT_RENT), data, owner: TOKEN, executable: false, rentEpoch: 0 };
      return { pubkey, account };
    });
  }

  /** Where a transaction stands; `null` if no block has it. */
  status(signature) {
    for (const { slot, transactions } of this.blocks.values()) {
      const found = transactions.find(({ transaction }) => transaction.signatures[0] === signature);
      const confirmationStatus = slot <= this.newest() ? "finalized" : "confirmed";
      if (found) return { slot, confirmations: null, err: found.meta.err, confirmationStatus };
    }
    return null;
  }

  block(slot, { commitment, transactionDetails, maxSupportedTransactionVersion }) {
    const found = this.blocks.get(slot);
    if (slot > this.newest(commitment)) return { error: { code: -32004, message: `Block not available for slot ${slot}` } };
    if (!found) {
      return { error: { code: -32007, message: `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot` } };
    }
    const newest = Math.max(-1, ...found.transactions.map((transaction) => transaction.version));
    if (newest > (maxSupportedTransactionVersion ?? -1)) {
      return { error: { code: -32015, message: `Transaction version (${newest}) is not supported by the requesting client` } };
    }
    const { slot: _, transactions, ...shown } = found;
    if (transactionDetails === "none") return { result: shown };
    if (transactionDetails === "accounts") return { result: { ...shown, transactions } };
    return { error: { code: -32602, message: `this stand-in has no transactionDetails ${transactionDetails}` } };
  }
}
