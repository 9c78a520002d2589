/** A NATS server of Debian's packages, got like the engine, without root or installation: for tests and `cluster -- try`. */
import path from 'node:path';
import { obtainPackages } from '../adapters/asterisk/provision/packages.ts';

export interface NatsServerOptions {
  readonly cache: string;
  /** Folder for what its streams store. */
  readonly folder: string;
  /** Loopback port. */
  readonly port: number;
  /** Receives a line for each step of getting the packages. */
  readonly progress: (line: string) => void;
}
/** Command of a server with streams at `url`. Throws where the packages cannot be got. */
export async function makeNatsServer(options: NatsServerOptions) {
  const { cache, folder, port, progress } = options;
  const tree = await obtainPackages({ cache, packages: ['nats-server'], progress });
  const program = tree.command(path.join('usr', 'sbin', 'nats-server'));
  return {
    command: [
      ...program,
      '--addr',
      '127.0.0.1',
      '--port',
      String(port),
      '--jetstream',
      '--store_dir',
      folder,
    ],
    url: `nats://127.0.0.1:${port}`,
  };
}
