/** The process of the SIP proxy in front of the engine nodes: renders its files, starts or adopts it, sends it the leading node. */
import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { replaceFile, textOf } from '../../../core/files.ts';
import { makeFolder } from '../../../core/folders.ts';
import { bracketed } from '../../../core/networks.ts';
import type { Finding } from '../../../ports/engine-site.ts';
import type { Common } from '../../../ports/common.ts';
import { KeptServer } from '../process/kept-server.ts';
import type { WantedServer } from '../process/kept-server.ts';
import { chooseRunDir, makeRunDir } from '../process/run-dir.ts';
import type { UnpackedPackages } from '../provision/packages.ts';
import { askSip } from '../sip-probe.ts';
import { blockedList, nodesFile, proxyConf, tlsConf } from './config.ts';
import type { SipAddress } from './config.ts';

const COMMAND_MS = 3_000;
const PROBE_MS = 2_000;
/** Counters of the program, by the names of the gauges. */
const COUNTERS = {
  requests: 'core.rcv_requests',
  replies: 'core.rcv_replies',
  dropped: 'core.drop_requests',
} as const;
export type ProxyCounts = Readonly<Record<keyof typeof COUNTERS, number>>;

export interface SipProxyOptions extends Common<'clock' | 'log'> {
  /** Data folder of the proxy. */
  readonly data: string;
  readonly listen: SipAddress;
  readonly nodes: readonly SipAddress[];
  /** Phones by TLS are taken at this port with these files; null for none. */
  readonly tls: { readonly port: number; readonly certificate: string; readonly key: string } | null;
  readonly packages: (signal?: AbortSignal) => Promise<UnpackedPackages>;
}
export class SipProxy {
  readonly #options: SipProxyOptions;
  readonly #server: KeptServer<WantedServer>;
  readonly #runDir: string;
  readonly #nodesFile: string;
  readonly #blockedFile: string;
  #tree: UnpackedPackages | null = null;
  /** List of nodes that the running process has read. */
  #nodesRead = '';
  /** The same of blocked networks. */
  #blockedRead = '';

  constructor(options: SipProxyOptions) {
    const { clock, data, listen, log } = options;
    this.#options = options;
    const folder = path.join(data, 'sip-proxy');
    const config = path.join(folder, 'kamailio.cfg');
    this.#runDir = chooseRunDir(data);
    this.#nodesFile = path.join(folder, 'nodes.list');
    this.#blockedFile = path.join(folder, 'blocked.list');
    this.#server = new KeptServer<WantedServer>({
      title: 'SIP proxy',
      kept: {
        note: path.join(folder, 'process.json'),
        pidFile: path.join(this.#runDir, 'kamailio.pid'),
        marks: ['-f', config],
      },
      console: path.join(folder, 'log', 'kamailio.log'),
      cwd: folder,
      runDir: this.#runDir,
      wanted: async () => {
        const text = await textOf(config);
        if (text === null) return null;
        const args = [
          '-DD',
          '-E',
          '-m',
          // Requests of a lost network are kept for 32 s. Only what is used is taken from the machine.
          '256',
          '-M',
          '8',
          '-Y',
          this.#runDir,
          '-P',
          `${this.#runDir}/kamailio.pid`,
        ];
        return { hash: createHash('sha256').update(text).digest('hex'), args };
      },
      command: async () => (await this.#packages()).command('usr/sbin/kamailio'),
      async probe() {
        const at = `${bracketed(listen.host)}:${listen.port}`;
        const status = await askSip(listen, 'proxy', PROBE_MS);
        if (status !== 200) throw new Error(`SIP at ${at} is answered with ${status}`);
        return at;
      },
      clock,
      log: log.child({ part: 'sip-proxy' }),
    });
  }
  /** Writes its files and keeps it running, until `stop` or `release`. Rejects where they cannot be written. */
  async begin(signal: AbortSignal): Promise<void> {
    const { data, listen, tls } = this.#options;
    const folder = path.join(data, 'sip-proxy');
    makeFolder(folder);
    makeRunDir(this.#runDir);
    const { root, triplet } = await this.#packages(signal);
    const tlsFile = path.join(folder, 'tls.cfg');
    if (tls !== null) await replaceFile(tlsFile, tlsConf(tls));
    const folders = {
      modules: `${path.join(root, 'usr', 'lib', triplet, 'kamailio', 'modules')}/`,
      nodes: this.#nodesFile,
      blocked: this.#blockedFile,
      control: this.#control,
    };
    const text = proxyConf(listen, folders, tls === null ? null : { port: tls.port, config: tlsFile });
    // A node that led before leads until another one is known to.
    if ((await textOf(this.#nodesFile)) === null)
      await replaceFile(this.#nodesFile, nodesFile(this.#options.nodes, null));
    if ((await textOf(this.#blockedFile)) === null) await replaceFile(this.#blockedFile, blockedList([]));
    await replaceFile(path.join(folder, 'kamailio.cfg'), text);
    this.#server.begin(signal);
  }
  finding(): Finding {
    return this.#server.finding() ?? { ok: false, detail: 'it does not run yet' };
  }
  get starts(): number {
    return this.#server.starts;
  }
  /** New requests go to this node from now on; false where the process does not run. Does nothing where they do already. */
  async lead(node: SipAddress): Promise<boolean> {
    const now = await this.#read(
      'dispatcher.reload',
      this.#nodesFile,
      nodesFile(this.#options.nodes, node),
      this.#nodesRead,
    );
    if (now !== null) this.#nodesRead = now;
    return now !== null;
  }
  /** Requests from these networks get no answer from now on, once the process runs. Throws for what is no such network. */
  async block(networks: readonly string[]): Promise<void> {
    const text = blockedList(networks);
    const now = await this.#read('permissions.addressReload', this.#blockedFile, text, this.#blockedRead);
    if (now !== null) this.#blockedRead = now;
  }
  /** Uses the present files of the certificate; existing connections keep the former one. */
  async renew(): Promise<void> {
    if (this.finding().ok) await this.#command('tls.reload');
  }
  /** Ends the calls of a node that wait for an answer and began until this time, in ms since 1970. */
  async endRings(node: SipAddress, until: number): Promise<void> {
    const name = `s:${bracketed(node.host)}:${node.port}`;
    if (this.finding().ok)
      await this.#command('htable.seti', 's:lost', name, String(Math.floor(until / 1_000)));
  }
  async counts(): Promise<ProxyCounts> {
    const text = await this.#command('stats.fetch', ...Object.values(COUNTERS));
    const lines = new Map(text.split('\n').map((line) => line.trim().split(': ') as [string, string]));
    return Object.fromEntries(
      Object.entries(COUNTERS).map(([name, counter]) => [name, Number(lines.get(counter) ?? 0)]),
    ) as ProxyCounts;
  }
  async stop(): Promise<void> {
    await this.#server.stop();
  }
  async release(): Promise<void> {
    await this.#server.release();
  }

  get #control(): string {
    return path.join(this.#runDir, 'ctl');
  }
  /** Has the process read a list where it did not yet; resolves with what it has read then, null where it does not run. */
  async #read(command: string, file: string, text: string, before: string): Promise<string | null> {
    if ((await textOf(file)) !== text) await replaceFile(file, text);
    // A process that started meanwhile may have read the file before.
    const now = `${this.#server.starts} ${text}`;
    if (now === before) return now;
    if (!this.finding().ok) return null;
    await this.#command(command);
    return now;
  }
  async #packages(signal?: AbortSignal): Promise<UnpackedPackages> {
    return (this.#tree ??= await this.#options.packages(signal));
  }
  async #command(...words: string[]): Promise<string> {
    const [program = '', ...args] = (await this.#packages()).command('usr/sbin/kamcmd');
    const options = { timeout: COMMAND_MS, maxBuffer: 65_536 };
    const all = [...args, '-s', `unix:${this.#control}`, ...words];
    return (await promisify(execFile)(program, all, options)).stdout;
  }
}
