// A TON of one process: the real virtual machine and real contracts, blocks only when asked for.
//
// Messages run when they are sent; `mine` puts those since the last block under the next masterchain block.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const GLOBAL_ID = -239;
const GENESIS_TIME = 1_760_000_000;
const COIN = 1_000_000_000n;
const MASTERCHAIN_SHARD = "8000000000000000";
/** Of the basic workchain: accounts whose address begins with the bit 0, and with 1. */
const SHARDS = ["4000000000000000", "C000000000000000"];

/** The shard of the account that a transaction belongs to. */
export const shardOf = (tx) => SHARDS[Number(tx.address >> 255n)];
const SUPPLY = 1n << 100n;

const OP = { transfer: 0x0f8a7ea5, internalTransfer: 0x178d4519, notification: 0x7362d09c };

/** TEP-74's reference contracts; see README.md. */
const code = (core, name) =>
  core.Cell.fromHex(readFileSync(new URL(`./${name}.hex`, import.meta.url), "utf8").trim());

export class Chain {
  static async start({ core, sandbox }) {
    const chain = new Chain();
    chain.core = core;
    chain.minterCode = code(core, "jetton-minter");
    chain.holderCode = code(core, "jetton-wallet");
    chain.tvm = await sandbox.Blockchain.create();
    chain.payer = await chain.tvm.treasury("payer");
    chain.stranger = await chain.tvm.treasury("stranger");
    chain.blocks = [];
    chain.waiting = [];
    chain.mine();
    return chain;
  }

  address(text) {
    return this.core.Address.parse(text);
  }

  /** Notes what ran. Returns the transaction of `account`, which must have happened. */
  ran({ transactions }, account) {
    this.waiting.push(...transactions);
    const own = (tx) => tx.address === BigInt(`0x${account.hash.toString("hex")}`);
    const found = transactions.filter((tx) => own(tx) && tx.inMessage?.info.type === "internal");
    if (found.length !== 1) throw new Error(`${found.length} transactions of ${account.toRawString()}`);
    return found[0];
  }

  async pay({ to, units, bounce = false }) {
    const account = this.address(to);
    const sent = await this.payer.send({
      to: account, value: BigInt(units), bounce, sendMode: this.core.SendMode.PAY_GAS_SEPARATELY,
    });
    const tx = this.ran(sent, account);
    return { hash: tx.hash().toString("hex"), aborted: tx.description.aborted };
  }

  /** A new token, all of it in the payer's hands; its master contract may be put at an address of the caller's. */
  async token({ name, at }) {
    const { beginCell, contractAddress, Address } = this.core;
    const data = (supply) => beginCell().storeCoins(supply).storeAddress(this.payer.address)
      .storeRef(beginCell().storeUint(1, 8).storeStringTail(name).endCell())
      .storeRef(this.holderCode).endCell();
    const master = at ? Address.parse(at) : contractAddress(0, { code: this.minterCode, data: data(0n) });
    await this.put(master, this.minterCode, data(SUPPLY));
    const holder = await this.holder(master, this.payer.address);
    await this.put(holder, this.holderCode, this.holding(SUPPLY, this.payer.address, master));
    return master.toRawString();
  }

  holding(units, owner, master) {
    return this.core.beginCell().storeCoins(units).storeAddress(owner).storeAddress(master)
      .storeRef(this.holderCode).endCell();
  }

  async put(address, contract, data) {
    await this.tvm.setShardAccount(address, {
      account: {
        addr: address,
        storage: {
          lastTransLt: 0n, balance: { coins: COIN },
          state: { type: "active", state: { code: contract, data } },
        },
        storageStats: { used: { cells: 0n, bits: 0n }, lastPaid: 0, duePayment: null, storageExtra: null },
      },
      lastTransactionHash: 0n, lastTransactionLt: 0n,
    });
  }

  /** Where `master` says that `owner`'s tokens are. */
  async holder(master, owner) {
    const slice = this.core.beginCell().storeAddress(owner).endCell();
    const stack = [{ type: "slice", cell: slice }];
    const answer = await this.tvm.runGetMethod(master, "get_wallet_address", stack);
    return answer.stackReader.readAddress();
  }

  async holderOf(master, owner) {
    return (await this.holder(this.address(master), this.address(owner))).toRawString();
  }

  /** State of an account; none for one that was never paid. Runs ahead of the blocks, as messages do here. */
  async account(address) {
    const account = this.address(address);
    const contract = await this.tvm.getContract(account);
    if (contract.accountState === undefined) return null;
    return {
      address: account.toRawString().toUpperCase(), balance: String(contract.balance), status: contract.accountState.type,
    };
  }

  body(op, units) {
    return this.core.beginCell().storeUint(op, 32).storeUint(0, 64).storeCoins(units);
  }

  internalTransfer(units, from) {
    return this.body(OP.internalTransfer, units).storeAddress(from).storeAddress(null).storeCoins(0).storeBit(0).endCell();
  }

  /** The transaction in which the receiver's holder contract gets its tokens. */
  async payToken({ master, to, units }) {
    const [token, owner] = [this.address(master), this.address(to)];
    const body = this.body(OP.transfer, BigInt(units)).storeAddress(owner).storeAddress(this.payer.address)
      .storeBit(0).storeCoins(1).storeBit(0).endCell();
    const source = await this.holder(token, this.payer.address);
    const sent = await this.payer.send({ to: source, value: COIN / 5n, bounce: true, body });
    return { hash: this.ran(sent, await this.holder(token, owner)).hash().toString("hex") };
  }

  /** Notifies a real jetton wallet of tokens that were never sent; it refuses. */
  async forgeToken({ master }) {
    const holder = await this.holder(this.address(master), this.payer.address);
    const body = this.internalTransfer(7_000_000n, this.stranger.address);
    const tx = this.ran(await this.stranger.send({ to: holder, value: COIN / 10n, bounce: true, body }), holder);
    if (!tx.description.aborted) throw new Error("a holder took forged tokens");
    return { hash: tx.hash().toString("hex") };
  }

  /** Messages that look like a payment to `to` but are none. */
  async noise({ master, to }) {
    const { internal, SendMode } = this.core;
    const [token, owner] = [this.address(master), this.address(to)];
    // A payment that its receiver sends back.
    const mode = SendMode.PAY_GAS_SEPARATELY;
    this.ran(await this.stranger.send({ to: owner, value: COIN, bounce: true, sendMode: mode }), owner);
    // A forged notification of a jetton wallet, with a billionth of a coin, as wallets send it.
    const notice = this.body(OP.notification, 7_000_000n).storeAddress(this.stranger.address).storeBit(0).endCell();
    this.ran(await this.stranger.send({ to: owner, value: 1n, bounce: false, body: notice, sendMode: mode }), owner);
    // A contract that claims to hold the owner's tokens, and accepts more of them from its own master. Its
    // address is not the one that the real master gives the owner.
    const impostor = new this.core.Address(0, createHash("sha256").update(to).digest());
    await this.put(impostor, this.holderCode, this.holding(0n, owner, token));
    const body = this.internalTransfer(7_000_000n, this.stranger.address);
    const told = internal({ to: impostor, value: COIN / 10n, bounce: true, body });
    told.info.src = token;
    const tx = this.ran(await this.tvm.sendMessage({ info: { ...told.info, createdLt: 0n, createdAt: 0 }, body }), impostor);
    if (tx.description.aborted) throw new Error("the impostor refused its tokens");
    return null;
  }

  mine() {
    const seqno = this.blocks.length;
    const parent = this.blocks.at(-1)?.root_hash ?? "";
    const root_hash = createHash("sha256").update(`block ${seqno} after ${parent}`).digest("base64");
    this.blocks.push({ seqno, root_hash, gen_utime: GENESIS_TIME + seqno, transactions: this.waiting });
    this.waiting = [];
    return seqno;
  }

  /** As another node that has not got the newest blocks yet. */
  forget({ blocks }) {
    this.blocks.splice(-blocks);
    return this.blocks.length;
  }

  /** Transactions of the network's own contracts in every masterchain block but the first, which is a state and no block. */
  ticks(seqno) {
    const hash = createHash("sha256").update(`tick of ${this.blocks[seqno].root_hash}`).digest("base64");
    return seqno === 0 ? [] : [{ hash, now: this.blocks[seqno].gen_utime }];
  }

  /** The masterchain block and the blocks of the two shards under it, which share the accounts by their first bit. */
  wireBlocks({ seqno, root_hash, gen_utime, transactions }) {
    const shared = {
      seqno, file_hash: root_hash, global_id: GLOBAL_ID, version: 0,
      gen_utime: String(gen_utime), start_lt: "0", end_lt: "0",
      masterchain_block_ref: { workchain: -1, shard: MASTERCHAIN_SHARD, seqno },
    };
    const shardBlock = (shard) => ({
      ...shared, workchain: 0, shard, root_hash: createHash("sha256").update(shard + root_hash).digest("base64"),
      tx_count: transactions.filter((tx) => shardOf(tx) === shard).length,
    });
    return [
      { ...shared, workchain: -1, shard: MASTERCHAIN_SHARD, root_hash, tx_count: this.ticks(seqno).length },
      ...SHARDS.map(shardBlock),
    ];
  }

  /** The holder contract at `address`, if its token's master agrees that it is one. */
  async confirmedHolder(address) {
    const account = this.address(address);
    const contract = await this.tvm.getContract(account);
    if (contract.accountState?.type !== "active") return null;
    try {
      const { stackReader } = await this.tvm.runGetMethod(account, "get_wallet_data");
      const [balance, owner, jetton] = [stackReader.readBigNumber(), stackReader.readAddress(), stackReader.readAddress()];
      if (!(await this.holder(jetton, owner)).equals(account)) return null;
      return { address: account.toRawString().toUpperCase(), balance: String(balance),
        owner: owner.toRawString().toUpperCase(), jetton: jetton.toRawString().toUpperCase() };
    } catch {
      return null; // It has no such method: it is no holder.
    }
  }
}
