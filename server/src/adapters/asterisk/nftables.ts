/**
 * Blocked networks in a table of nftables that belongs to this site alone. Each change replaces the table in one transaction, so
 * that the first one after a kill removes what the killed service left. The kernel ends each block by itself.
 */
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Firewall, FirewallState, TimedBlock } from '../../ports/firewall.ts';
import { network, whole } from './conf/text.ts';
import { run } from './provision/run.ts';

const PATIENCE_MS = 10_000;
const MOST_OUTPUT = 4_096;
/** Folders of system programs, which the PATH of a service often lacks. */
const SYSTEM = ['/usr/sbin', '/sbin'];

async function findNft(): Promise<string | null> {
  for (const folder of [...(process.env['PATH'] ?? '').split(':'), ...SYSTEM]) {
    if (!path.isAbsolute(folder)) continue;
    const file = path.join(folder, 'nft');
    const found = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return file;
  }
  return null;
}
const port = (value: number): string => whole(value, 'a port of SIP', 1, 65_535);
/** Deleting a table that does not exist is an error, so it is made first. */
const without = (table: string): string => `table inet ${table} { }\ndelete table inet ${table}\n`;
/**
 * The whole table, as `nft -f` reads it. Only SIP is dropped, so that an administrator in a blocked network still reaches the
 * console that ends the block.
 */
export function tableOf(
  table: string,
  blocks: readonly TimedBlock[],
  ports: readonly number[],
  now: number,
): string {
  const set = (name: string, type: string, isIn: (one: string) => boolean): string => {
    const elements = blocks
      .filter((b) => isIn(b.network) && b.until_ms > now)
      .map(
        (b) => `${network(b.network, 'a blocked network')} timeout ${Math.ceil((b.until_ms - now) / 1_000)}s`,
      );
    const shown = elements.length === 0 ? '' : ` elements = { ${elements.join(', ')} };`;
    return `  set ${name} { type ${type}; flags interval, timeout;${shown} }\n`;
  };
  const isIpv6 = (one: string): boolean => one.includes(':');
  const drop = `meta l4proto { tcp, udp } th dport { ${ports.map(port).join(', ')} }`;
  return `${without(table)}table inet ${table} {
${set('blocked4', 'ipv4_addr', (one) => !isIpv6(one))}${set('blocked6', 'ipv6_addr', isIpv6)}  chain input {
    type filter hook input priority filter - 10; policy accept;
    iifname "lo" accept
    ${drop} ip saddr @blocked4 counter drop
    ${drop} ip6 saddr @blocked6 counter drop
  }
}
`;
}

export class Nftables implements Firewall {
  readonly #table: string;
  readonly #clock: Clock;
  readonly #log: Log;
  #state: FirewallState = { state: 'unavailable', detail: 'not tried yet' };

  /** `sipPort`: of this site; tables of several sites on one machine have different names. */
  constructor({
    sipPort,
    clock,
    log,
  }: {
    readonly sipPort: number;
    readonly clock: Clock;
    readonly log: Log;
  }) {
    this.#table = `offhook_${port(sipPort)}`;
    this.#clock = clock;
    this.#log = log;
  }
  state(): FirewallState {
    return this.#state;
  }
  async replace(blocks: readonly TimedBlock[], ports: readonly number[]): Promise<void> {
    try {
      await this.#nft(tableOf(this.#table, blocks, ports, this.#clock.now()));
      if (this.#state.state !== 'active')
        this.#log.info({ table: this.#table }, 'blocked networks are written to nftables, too');
      this.#state = { state: 'active', networks: blocks.length };
    } catch (error) {
      const detail = messageOf(error);
      if (this.#state.state === 'active' || this.#state.detail !== detail)
        this.#log.warn(
          { detail },
          'blocked networks could not be written to nftables; only the engine rejects them',
        );
      this.#state = { state: 'unavailable', detail };
    }
  }
  async close(): Promise<void> {
    if (this.#state.state !== 'active') return;
    await this.#nft(without(this.#table)).catch((error: unknown) =>
      this.#log.warn({ detail: messageOf(error) }, 'the table of nftables could not be removed'),
    );
  }
  async #nft(script: string): Promise<void> {
    const program = await findNft();
    if (program === null) throw new Error('there is no program nft: install nftables');
    const { code, stderr, timed_out } = await run([program, '-f', '-'], {
      input: script,
      timeout_ms: PATIENCE_MS,
      limit: MOST_OUTPUT,
      env: { PATH: process.env['PATH'], LC_ALL: 'C' },
    });
    if (timed_out) throw new Error(`nft did not end in ${PATIENCE_MS / 1_000} s`);
    if (code !== 0) throw new Error(stderr.trim().split('\n')[0] || `nft ended with ${code}`);
  }
}
