/** Resolves the DNS records of trunks and applies changed servers to the engine. */
import { isIPv4 } from 'node:net';
import type { ConfigApply } from '@offhook/contract/config-applies.ts';
import { Backoff } from '../../core/backoff.ts';
import { messageOf } from '../../core/errors.ts';
import type { KeptText } from '../../core/files.ts';
import type { Log } from '../../core/log.ts';
import type { Finding } from '../../ports/engine-site.ts';
import type { Common } from '../../ports/common.ts';
import type { SiteTrunk } from '../../ports/site.ts';
import type {
  FindServers,
  ProveServer,
  ServerProof,
  TrunkServer,
  TrunkServers,
} from '../../ports/trunk-servers.ts';

type Followed = Pick<SiteTrunk, 'name' | 'title' | 'host' | 'port' | 'transport' | 'srv'>;
export interface TrunkServersDeps extends Common<'clock' | 'log'> {
  /** Applied trunks, in any order. */
  readonly trunks: () => readonly (Followed & { readonly enabled: boolean })[];
  /** True if the engine needs the resolved servers of this trunk. */
  readonly follows: (trunk: Followed) => boolean;
  readonly find: FindServers;
  /** Checks the certificate of a TLS server. */
  readonly prove: ProveServer;
  /** True while a running engine can accept other servers. */
  readonly up: () => boolean;
  /** Applies the present version again, rendered with `found()`. Throws if no apply can begin now. */
  readonly renew: (comment: string) => Promise<ConfigApply>;
  /** Stores the servers across restarts, as text. */
  readonly kept: KeptText;
}
/** Interval of lookups. The resolver caches an answer for its time to live, which adds to the age of the servers. */
const EVERY_MS = 30_000;
/** Shortest interval between two changes of a trunk; it doubles with each until an hour passes without a change. */
const HOLD = { first_ms: 30_000, most_ms: 1_800_000 } as const;
const CALM_MS = 3_600_000;
/** Time for which a valid certificate is not checked again. */
const PROOF_MS = 300_000;

interface Known {
  /** Question of the lookup (`questionOf`); the servers are used only while the trunk has the same question. */
  readonly asked: string;
  readonly servers: readonly TrunkServer[];
}
interface Damper {
  readonly hold: Backoff;
  changedAt: number;
  heldUntil: number;
}
const questionOf = ({ host, port, srv, transport }: Followed): string =>
  `${srv ? '' : 'address '}${transport} ${host}:${port}`;
const textOf = (servers: readonly TrunkServer[] = []): string =>
  servers.map(({ host, port, addresses }) => `${host}:${port} ${addresses.join(' ')}`).join(', ');
const briefOf = (servers: readonly TrunkServer[]): string =>
  servers.map(({ host, port }) => `${host}:${port}`).join(', ');

/** Parses stored servers. Invalid entries are dropped, because the next lookup finds them again. */
function readKnown(text: string | null): Map<string, Known> {
  const isServer = (one: TrunkServer): boolean =>
    typeof one.host === 'string' && Number.isInteger(one.port) && one.addresses.every((a) => isIPv4(a));
  try {
    const entries = JSON.parse(text ?? '[]') as readonly (readonly [string, Known])[];
    return new Map(entries.filter(([, { asked, servers }]) => asked !== '' && servers.every(isServer)));
  } catch {
    return new Map();
  }
}

export class TrunkServerLookup implements AsyncDisposable {
  readonly #deps: TrunkServersDeps;
  readonly #log: Log;
  readonly #stop = new AbortController();
  readonly #faults = new Map<string, string>();
  /** Faults of certificates by trunk, and the valid proofs of the last five minutes. */
  readonly #certificates = new Map<string, string>();
  readonly #proofs = new Map<string, { readonly proof: ServerProof; readonly until: number }>();
  readonly #dampers = new Map<string, Damper>();
  #known: Map<string, Known>;
  #wake: () => void = () => undefined;
  #running: Promise<void> = Promise.resolve();

  private constructor(deps: TrunkServersDeps, known: Map<string, Known>) {
    this.#deps = deps;
    this.#log = deps.log.child({ part: 'trunk-servers' });
    this.#known = known;
  }
  static async open(deps: TrunkServersDeps): Promise<TrunkServerLookup> {
    return new TrunkServerLookup(deps, readKnown(await deps.kept.read()));
  }
  /** Servers found for the present host, port and transport of these trunks. */
  found(trunks: readonly Followed[]): TrunkServers {
    return new Map(
      trunks.flatMap((trunk) => {
        const known = this.#known.get(trunk.name);
        return known?.asked === questionOf(trunk) ? [[trunk.name, known.servers] as const] : [];
      }),
    );
  }
  /** Starts a lookup now, e.g. after a change of a trunk or a reconnect of the engine; checks certificates again. */
  follow(): void {
    this.#proofs.clear();
    this.#wake();
  }
  begin(): void {
    this.#running = this.#run();
  }
  finding(): Finding {
    const followed = this.#followed();
    if (followed.length === 0) return { ok: true, detail: 'no trunk has SRV records' };
    const found = this.found(followed);
    const words = followed.map((trunk) => {
      const servers = found.get(trunk.name);
      const used = servers === undefined ? `${trunk.host}:${trunk.port}` : briefOf(servers);
      const fault = this.#faultOf(trunk);
      const title = trunk.title.replace(/\s+/g, ' ');
      return fault === undefined ? `${title}: ${used}` : `${title}: ${fault}; in use: ${used}`;
    });
    return { ok: followed.every((trunk) => this.#faultOf(trunk) === undefined), detail: words.join('; ') };
  }
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #faultOf({ name }: Followed): string | undefined {
    return this.#faults.get(name) ?? this.#certificates.get(name);
  }
  #followed(): readonly Followed[] {
    return this.#deps.trunks().filter((trunk) => trunk.enabled && this.#deps.follows(trunk));
  }
  async #run(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      const followed = this.#followed();
      this.#forget(followed);
      if (followed.length > 0 && this.#deps.up()) await this.#look(followed);
      const pause = followed.length === 0 ? CALM_MS : EVERY_MS;
      await clock.sleep(pause, AbortSignal.any([signal, woken.signal])).catch(() => undefined);
    }
  }
  #forget(followed: readonly Followed[]): void {
    const names = new Set(followed.map(({ name }) => name));
    for (const all of [this.#known, this.#faults, this.#certificates, this.#dampers])
      for (const name of all.keys()) if (!names.has(name)) all.delete(name);
  }
  async #look(followed: readonly Followed[]): Promise<void> {
    const { find } = this.#deps;
    const changed: [Followed, Known][] = [];
    await Promise.all(
      followed.map(async (trunk) => {
        try {
          const servers = await this.#proven(trunk, await find(trunk, this.#stop.signal));
          const asked = questionOf(trunk);
          const before = this.#known.get(trunk.name);
          if (before?.asked === asked && textOf(before.servers) === textOf(servers)) this.#calm(trunk);
          else if (this.#may(trunk, before?.asked === asked)) changed.push([trunk, { asked, servers }]);
        } catch (error) {
          this.#doubt(trunk, messageOf(error));
        }
      }),
    );
    if (changed.length > 0 && !this.#stop.signal.aborted) await this.#change(changed);
  }
  /** Servers whose certificate is valid for the domain; an unreachable one stays if it was among them before. */
  async #proven(trunk: Followed, found: readonly TrunkServer[]): Promise<readonly TrunkServer[]> {
    if (trunk.transport !== 'tls') return found;
    const { name, title, host } = trunk;
    const known = this.#known.get(name);
    const before = known?.asked === questionOf(trunk) ? known.servers : [];
    const proofs = await Promise.all(found.map((server) => this.#prove(host, server)));
    const fault = proofs.flatMap((proof) => proof.fault ?? []).join('; ');
    if (fault !== '' && this.#certificates.get(name) !== fault)
      this.#log.warn({ trunk: title, detail: fault }, 'the servers of a trunk have wrong certificates');
    if (fault === '') this.#certificates.delete(name);
    else this.#certificates.set(name, fault);
    const vouched = found.filter(
      (server, i) => proofs[i]!.vouched ?? before.some((one) => textOf([one]) === textOf([server])),
    );
    if (vouched.length === 0) throw new Error(fault);
    return vouched;
  }
  async #prove(domain: string, server: TrunkServer): Promise<ServerProof> {
    const { clock, prove } = this.#deps;
    const key = `${domain} ${textOf([server])}`;
    for (const [old, { until }] of this.#proofs) if (until <= clock.now()) this.#proofs.delete(old);
    const last = this.#proofs.get(key);
    if (last !== undefined) return last.proof;
    const proof = await prove(domain, server, this.#stop.signal);
    if (proof.fault === null) this.#proofs.set(key, { proof, until: clock.now() + PROOF_MS });
    return proof;
  }
  #calm({ name }: Followed): void {
    this.#faults.delete(name);
    const damper = this.#dampers.get(name);
    if (damper !== undefined && this.#deps.clock.now() - damper.changedAt >= CALM_MS) damper.hold.reset();
  }
  /** False while the records of a trunk change too often; servers for another question are accepted at once. */
  #may(trunk: Followed, sameQuestion: boolean): boolean {
    const left = (this.#dampers.get(trunk.name)?.heldUntil ?? 0) - this.#deps.clock.now();
    if (!sameQuestion || left <= 0) return true;
    this.#doubt(
      trunk,
      `its records change too often: the next change is possible in ${Math.ceil(left / 1000)} s`,
    );
    return false;
  }
  async #change(changed: readonly (readonly [Followed, Known])[]): Promise<void> {
    const { clock, kept, renew } = this.#deps;
    const former = this.#known;
    this.#known = new Map([...former, ...changed.map(([{ name }, known]) => [name, known] as const)]);
    const words = changed.map(([{ title }, { servers }]) => `${title}: ${briefOf(servers)}`).join('; ');
    try {
      const { detail, state } = await renew(`servers of trunks by DNS: ${words}`.slice(0, 200));
      if (state !== 'applied') throw new Error(detail ?? state);
    } catch (error) {
      this.#known = former;
      for (const [trunk, { servers }] of changed)
        this.#doubt(trunk, `${briefOf(servers)} not brought to the engine: ${messageOf(error)}`);
      return;
    }
    const now = clock.now();
    for (const [{ name }] of changed) {
      this.#faults.delete(name);
      const damper = this.#dampers.get(name) ?? { hold: new Backoff(HOLD), changedAt: now, heldUntil: 0 };
      if (former.has(name)) damper.heldUntil = now + damper.hold.next();
      damper.changedAt = now;
      this.#dampers.set(name, damper);
    }
    this.#log.info({ servers: words }, 'the servers of trunks changed');
    await kept
      .write(JSON.stringify([...this.#known]))
      .catch((error: unknown) =>
        this.#log.warn({ error: messageOf(error) }, 'the servers of trunks could not be stored'),
      );
  }
  #doubt({ name, title }: Followed, detail: string): void {
    if (this.#stop.signal.aborted) return;
    if (!this.#faults.has(name))
      this.#log.warn({ trunk: title, detail }, 'the servers of a trunk have a problem');
    this.#faults.set(name, detail);
  }
}
