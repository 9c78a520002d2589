/** The TURN server of the site as a process: started, adopted and ended as `turnserver.conf` wants it. */
import { createHash } from 'node:crypto';
import path from 'node:path';
import { networkInterfaces } from 'node:os';
import { messageOf } from '../../../core/errors.ts';
import { textOf } from '../../../core/files.ts';
import type { Finding } from '../../../ports/engine-site.ts';
import type { Common } from '../../../ports/common.ts';
import { etcDir, logDir } from '../conf/instance.ts';
import type { Instance } from '../conf/instance.ts';
import { TURN_FILE, turnPidFile } from '../conf/turn-file.ts';
import { KeptServer } from '../process/kept-server.ts';
import type { WantedServer } from '../process/kept-server.ts';
import { askStun } from './stun.ts';

export interface TurnOptions extends Common<'clock' | 'log'> {
  readonly instance: Instance;
  /** Command of the program; gets its packages first where they are missing. */
  readonly command: (signal?: AbortSignal) => Promise<readonly string[]>;
}
/** Settings from the file; null where the site has no TURN server. */
interface Wanted extends WantedServer {
  readonly host: string;
  readonly port: number;
}
const PROBE_MS = 3_000;

const valuesOf = (text: string, key: string): readonly string[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith(`${key}=`))
    .map((line) => line.slice(key.length + 1));
const valueOf = (text: string, key: string): string | undefined => valuesOf(text, key)[0];
/** Addresses at which the engine's media is reached. */
export const ownAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap((one) => one ?? [])
    .filter(({ internal, scopeid }) => !internal && !scopeid)
    .map(({ address }) => address)
    .sort();
/** Every address at which the server of this file listens. */
export function turnAddresses(text: string): readonly { readonly host: string; readonly port: number }[] {
  const port = Number(valueOf(text, 'listening-port'));
  if (Number.isNaN(port)) return [];
  const listed = valuesOf(text, 'listening-ip');
  return (listed.length > 0 ? listed : ownAddresses()).map((host) => ({ host, port }));
}
function readWanted(text: string): Wanted | null {
  const port = valueOf(text, 'listening-port');
  if (port === undefined) return null;
  const host = valueOf(text, 'listening-ip');
  const addresses = ownAddresses();
  // A relay at a loopback address would reach the engine, whose answers come from that address and are refused.
  const args = addresses.flatMap((one) => [`--relay-ip=${one}`, `--allowed-peer-ip=${one}`]);
  const hash = createHash('sha256')
    .update(`${text}\0${args.join(' ')}`)
    .digest('hex');
  return { hash, host: host ?? addresses[0] ?? '127.0.0.1', port: Number(port), args };
}

export class TurnServer {
  readonly #options: TurnOptions;
  readonly #server: KeptServer<Wanted>;

  constructor(options: TurnOptions) {
    const { clock, command, instance } = options;
    const file = path.join(etcDir(instance), TURN_FILE);
    this.#options = options;
    this.#server = new KeptServer({
      title: 'TURN server',
      kept: {
        note: path.join(instance.folder, 'turn.json'),
        pidFile: turnPidFile(instance),
        marks: ['-c', file],
      },
      console: path.join(logDir(instance), 'turn.log'),
      cwd: instance.folder,
      runDir: instance.run_dir,
      wanted: async () => readWanted((await textOf(file)) ?? ''),
      command,
      async probe({ host, port }) {
        try {
          await askStun({ host, port }, PROBE_MS);
          return `${host}:${port}`;
        } catch (error) {
          throw new Error(`TURN at ${host}:${port}: ${messageOf(error)}`, { cause: error });
        }
      },
      clock,
      log: options.log.child({ part: 'turn' }),
    });
  }
  begin(signal: AbortSignal): void {
    this.#server.begin(signal);
  }
  /** Null where the site has none. */
  finding(): Finding | null {
    return this.#server.finding();
  }
  /** Gets what the file will need; nothing for a file without a server. */
  async prepare(text: string, signal?: AbortSignal): Promise<void> {
    if (readWanted(text) !== null) await this.#options.command(signal);
  }
  /** Takes in the file as it is now. Resolves with the reason where the server does not answer, else with null. */
  async take(signal?: AbortSignal): Promise<string | null> {
    return await this.#server.take(signal);
  }
  /** A renewed certificate is read from the same files; relayed calls stay. */
  takeCertificate(): void {
    this.#server.signal('SIGUSR2');
  }
  /** Ends the server too. */
  async stop(): Promise<void> {
    await this.#server.stop();
  }
  /** Leaves the server to the next service. */
  async release(): Promise<void> {
    await this.#server.release();
  }
}
