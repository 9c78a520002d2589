/**
 * Blocks networks that send many refused SIP requests, for one hour. The engine rejects requests from these networks;
 * the service stores the list and sends it to the engine after each connect.
 */
import { sql } from 'kysely';
import type { BlockedNetwork, BlockedNetworks } from '@offhook/contract/blocked-networks.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { createTable } from '../../core/schema.ts';
import { rfc3339, sleepUntil } from '../../core/clock.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Firewall } from '../../ports/firewall.ts';
import type { SipRefusal } from '../../ports/engine.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import type { Migration } from '../../ports/store.ts';
import { blockedNetworkOf, meets } from './networks.ts';

interface Row {
  id: number;
  network: string;
  reason: BlockedNetwork['reason'];
  requests: number;
  since_ms: number;
  until_ms: number;
}
interface Tables {
  sip_blocked_networks: Row;
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-sip-blocked-networks',
    async up(db) {
      await createTable(db.schema)`sip_blocked_networks (
        id integer primary key, network text not null unique, reason text not null, requests integer not null,
        since_ms integer not null, until_ms integer not null)`;
    },
  },
  {
    // SQLite would give the id of the newest block to the next one after its end, and a repeated DELETE would release that.
    id: '0110-sip-blocked-network-ids',
    async up(db) {
      await db.schema.alterTable('sip_blocked_networks').renameTo('sip_blocked_networks_before').execute();
      await createTable(db.schema)`sip_blocked_networks (
        id integer primary key autoincrement, network text not null unique, reason text not null,
        requests integer not null, since_ms integer not null, until_ms integer not null)`;
      await sql`insert into sip_blocked_networks (id, network, reason, requests, since_ms, until_ms)
        select id, network, reason, requests, since_ms, until_ms from sip_blocked_networks_before`.execute(
        db,
      );
      await db.schema.dropTable('sip_blocked_networks_before').execute();
    },
  },
];

/** Refused requests within `WINDOW_MS` that block a network. The engine does not report a scanner's first request. */
export const MOST_REFUSED = 9;
const WINDOW_MS = 5 * 60_000;
export const BLOCK_MS = 60 * 60_000;
/** Limit of blocked networks; beyond it the block that ends first is released. */
export const MOST_BLOCKED = 500;
/** Pause before the next try to end blocks whose time is over. */
const AGAIN_MS = 10_000;
/** Limit of networks with counted refusals; beyond it the one with the oldest refusal is forgotten. */
const MOST_COUNTED = 2_000;

export interface BlockDeps extends Common<'clock' | 'log' | 'publish' | 'store'> {
  readonly audit: Required<Pick<Audit, 'record'>>;
  /** Networks and addresses that are never blocked. */
  readonly spared: () => readonly string[];
  /** Addresses of the registered phones and of trunks. */
  readonly phones: () => Promise<readonly string[]>;
  /** Sends the list to the engine; false if the engine does not enforce it yet. */
  readonly enforce: (networks: readonly string[]) => Promise<boolean>;
  readonly firewall: Firewall | null;
  /** Ports at which SIP arrives. */
  readonly ports: () => readonly number[];
}

export class NetworkBlocks {
  readonly #deps: BlockDeps;
  #blocked: readonly Row[];
  readonly #counted = new Map<string, { from: number; requests: number }>();
  /** Networks that the next change blocks together: an attack from many networks costs one request to the engine. */
  readonly #due = new Map<string, Pick<Row, 'reason' | 'requests'>>();
  #enforced = false;
  /** Networks that the engine received last; null before the first time. */
  #sent: readonly string[] | null = null;
  /** Changes run one after the other. */
  #work: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();
  #timer = new AbortController();

  private constructor(deps: BlockDeps, blocked: readonly Row[]) {
    this.#deps = deps;
    this.#blocked = blocked;
  }
  /** Runs the migrations. Sends the list to the firewall at once, and to the engine in `again`. */
  static async open(deps: BlockDeps): Promise<NetworkBlocks> {
    await deps.store.migrate('sip-blocked-networks', migrations);
    const rows = await deps.store.db<Tables>().selectFrom('sip_blocked_networks').selectAll().execute();
    const blocks = new NetworkBlocks(deps, rows);
    blocks.configured();
    return blocks;
  }

  /** Counts a refused request. */
  refused({ address, reason }: SipRefusal): void {
    if (reason === 'request') return;
    const network = blockedNetworkOf(address);
    if (network === null || this.#due.has(network) || this.#blocked.some((b) => b.network === network))
      return;
    const now = this.#deps.clock.now();
    const known = this.#counted.get(network);
    const counted = known === undefined || known.from <= now - WINDOW_MS ? { from: now, requests: 0 } : known;
    counted.requests += 1;
    this.#counted.delete(network);
    if (counted.requests >= MOST_REFUSED) return this.#reached(network, reason, counted.requests);
    this.#counted.set(network, counted);
    if (this.#counted.size > MOST_COUNTED) this.#counted.delete(this.#counted.keys().next().value!);
  }
  /** Call after each connect to the engine: sends the list and ends blocks whose time is over. */
  again(): void {
    this.#do(() => this.#enforce());
    this.applied();
    this.#wait();
  }
  /** Call after each apply, also of other servers of a trunk: ends blocks of networks in which a trunk is by now. */
  applied(): void {
    this.#do(async () => {
      if (this.#blocked.length === 0) return;
      const known = await this.#deps.phones();
      const found = this.#blocked.filter((b) => meets(b.network, known));
      if (found.length > 0) await this.#end(found, 'released');
    });
  }
  /** Call after a change of the configuration: SIP ports and spared networks may differ. */
  configured(): void {
    this.#do(() =>
      this.#sent === null || this.#sent.join() === this.#networks().join() ? this.#fence() : this.#enforce(),
    );
  }
  list(): Omit<BlockedNetworks, 'success'> {
    return {
      enforced: this.#enforced,
      firewall: this.#deps.firewall?.state().state ?? 'off',
      networks: this.#blocked.map(({ since_ms, until_ms, ...row }) => ({
        ...row,
        since: rfc3339(since_ms),
        until: rfc3339(until_ms),
      })),
    };
  }
  /** Ends a block before its time. Throws `not_found`. */
  async release(actor: Actor, id: number): Promise<void> {
    const found = this.#blocked.find((b) => b.id === id);
    if (found === undefined) throw new ServiceError('not_found', 'this network is not blocked');
    await this.#run(() => this.#end([found], 'released'));
    await this.#deps.audit.record({
      action: 'sip.network_released',
      actor: actor.caller.username,
      object: found.network,
      outcome: 'ok',
      ip: actor.ip,
      detail: { reason: found.reason },
    });
  }
  async close(): Promise<void> {
    this.#stop.abort();
    this.#timer.abort();
    await this.#work;
    await this.#deps.firewall?.close();
  }

  /** Runs after the changes before it. */
  #run(work: () => Promise<void>): Promise<void> {
    const run = this.#work.then(work);
    this.#work = run.catch(() => undefined);
    return run;
  }
  #do(work: () => Promise<void>): void {
    if (this.#stop.signal.aborted) return;
    this.#run(work).catch((error: unknown) => {
      this.#deps.log.error({ error: messageOf(error) }, 'a network could not be blocked or released');
    });
  }
  #reached(network: string, reason: Row['reason'], requests: number): void {
    if (meets(network, this.#deps.spared()) || this.#due.size >= MOST_BLOCKED) return;
    this.#due.set(network, { reason, requests });
    if (this.#due.size === 1) this.#do(() => this.#block());
  }
  /** Blocks the networks that are due. */
  async #block(): Promise<void> {
    const { clock, store, phones, audit } = this.#deps;
    const due = [...this.#due];
    try {
      // An office with a wrongly configured phone is not blocked while another of its phones is registered, nor a carrier that
      // sends from a second address, which no trunk has.
      const registered = await phones();
      const now = clock.now();
      const isOffice = (network: string): boolean => meets(network, registered);
      // Stop counting in this window: each further refusal would ask the engine for the registered phones again.
      for (const [network] of due)
        if (isOffice(network)) this.#counted.set(network, { from: now, requests: -Infinity });
      const values = due
        .filter(([network]) => !isOffice(network))
        .map(([network, what]) => ({ network, ...what, since_ms: now, until_ms: now + BLOCK_MS }));
      if (values.length === 0) return;
      const most = MOST_BLOCKED - values.length;
      const earliest = this.#blocked.toSorted((a, b) => a.until_ms - b.until_ms);
      const over = earliest.slice(0, Math.max(0, earliest.length - most));
      if (over.length > 0) await this.#end(over, 'released');
      const rows = await store
        .db<Tables>()
        .insertInto('sip_blocked_networks')
        .values(values as Row[])
        .returningAll()
        .execute();
      this.#blocked = [...this.#blocked, ...rows];
      this.#wait();
      await this.#enforce();
      for (const row of rows) this.#tell('network.blocked', row);
      for (const row of rows)
        await audit.record({
          action: 'sip.network_blocked',
          actor: null,
          object: row.network,
          outcome: 'ok',
          ip: null,
          detail: { reason: row.reason, requests: row.requests, until: rfc3339(row.until_ms) },
        });
    } finally {
      for (const [network] of due) this.#due.delete(network);
      if (this.#due.size > 0) this.#do(() => this.#block());
    }
  }
  async #end(rows: readonly Row[], why: 'released' | 'over'): Promise<void> {
    const ids = rows.map((r) => r.id);
    await this.#deps.store.db<Tables>().deleteFrom('sip_blocked_networks').where('id', 'in', ids).execute();
    this.#blocked = this.#blocked.filter((b) => !ids.includes(b.id));
    this.#wait();
    await this.#enforce();
    for (const row of rows) this.#tell('network.released', row, why);
  }
  /** Blocks without those of networks that have become spared since. */
  #active(): readonly Row[] {
    const own = this.#deps.spared();
    return this.#blocked.filter((b) => !meets(b.network, own));
  }
  #networks(): readonly string[] {
    return this.#active().map((b) => b.network);
  }
  async #fence(): Promise<void> {
    await this.#deps.firewall?.replace(this.#active(), this.#deps.ports());
  }
  /** An engine that is away receives the list after its next connect (`again`). */
  async #enforce(): Promise<void> {
    await this.#fence();
    this.#enforced = false;
    this.#sent = this.#networks();
    try {
      this.#enforced = await this.#deps.enforce(this.#sent);
    } catch (error) {
      this.#deps.log.warn(
        { error: messageOf(error) },
        'blocked networks are not enforced until the engine is back',
      );
    }
  }
  #tell(type: 'network.blocked' | 'network.released', row: Row, why?: 'released' | 'over'): void {
    const { network, reason, requests, until_ms } = row;
    const at = this.#deps.clock.now();
    const subject = `networks/${network}`;
    const data =
      type === 'network.blocked'
        ? { network, reason, requests, until: rfc3339(until_ms) }
        : { network, why: why! };
    this.#deps.publish([{ type, subject, at, observed: 'live', data } as DomainEvent]);
  }
  /** Waits for the end of the block that ends first, and at least until `earliest`, ms since 1970. */
  #wait(earliest = 0): void {
    this.#timer.abort();
    this.#timer = new AbortController();
    const first = Math.min(...this.#blocked.map((b) => b.until_ms));
    if (first === Infinity || this.#stop.signal.aborted) return;
    const { clock } = this.#deps;
    const { signal } = this.#timer;
    void sleepUntil(clock, Math.max(first, earliest), signal).then(
      () =>
        this.#do(async () => {
          const over = this.#blocked.filter((b) => b.until_ms <= clock.now());
          if (over.length === 0) return;
          // The database may reject the end, which no later event would repeat.
          this.#wait(clock.now() + AGAIN_MS);
          await this.#end(over, 'over');
        }),
      () => undefined,
    );
  }
}
