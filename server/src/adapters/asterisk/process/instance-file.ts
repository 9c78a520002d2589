import { randomBytes, randomInt } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { StartError } from '../../../core/errors.ts';
import { recordingsDir } from '../conf/instance.ts';
import type { Instance } from '../conf/instance.ts';
import { findLiving } from './living.ts';
import { chooseRunDir, makeRunDir } from './run-dir.ts';

interface Ports {
  readonly ami_port?: number;
  readonly http_port?: number;
}
export interface CreateInstanceOptions {
  /** Fixed ports to use, even when another program has them. */
  readonly ports?: Ports;
  /** The node's name in ids, `ast1` by default. */
  readonly node?: string;
}

const LOOPBACK = '127.0.0.1';
/**
 * Below the ports that Linux gives to outgoing connections. Of those, one may be taken before the engine starts, which then runs
 * without its manager interface, and the service never reaches it.
 */
const [FIRST_PORT, LAST_PORT] = [29_500, 32_767];
const fileOf = (folder: string): string => path.join(folder, 'instance.json');
/** A data folder has one name, whatever links lead to it: the engine is identified by the path of its configuration. */
function folderOf(dataFolder: string): string {
  const folder = path.join(path.resolve(dataFolder), 'engine');
  try {
    return fs.realpathSync(folder);
  } catch {
    return folder;
  }
}

function listen(port: number): Promise<net.Server> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once('error', reject);
    server.listen({ host: LOOPBACK, port, exclusive: true }, () => resolve(server));
  });
}
const shut = (server: net.Server): Promise<void> => new Promise((done) => server.close(() => done()));

async function isFree(port: number): Promise<boolean> {
  try {
    await shut(await listen(port));
    return true;
  } catch {
    return false;
  }
}

/** Free TCP ports on the loopback address, all different. */
async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>();
  for (let tries = 0; found.size < count; tries += 1) {
    if (tries > 10 * (LAST_PORT - FIRST_PORT))
      throw new Error(`no free port from ${FIRST_PORT} to ${LAST_PORT}`);
    const port = randomInt(FIRST_PORT, LAST_PORT + 1);
    if (await isFree(port)) found.add(port);
  }
  return [...found];
}

/** The file is replaced atomically, so that a crash leaves the old or the new one. */
function write(instance: Instance): void {
  const file = fileOf(instance.folder);
  const temporary = `${file}.new`;
  const handle = fs.openSync(temporary, 'w', 0o600);
  try {
    fs.writeSync(handle, `${JSON.stringify(instance, null, 2)}\n`);
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
  fs.renameSync(temporary, file);
}

const isPort = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) > 0 && Number(value) <= 65535;
const isUser = (value: unknown): boolean => {
  const user = value as Partial<Instance['ami_events']> | null | undefined;
  return typeof user?.user === 'string' && typeof user.secret === 'string';
};
function isInstance(value: unknown): value is Instance {
  const i = value as Partial<Instance> | null;
  return (
    typeof i?.folder === 'string' &&
    typeof i.run_dir === 'string' &&
    typeof i.node === 'string' &&
    isPort(i.ami_port) &&
    isPort(i.http_port) &&
    isUser(i.ami_events) &&
    isUser(i.ami_actions)
  );
}

function readKept(folder: string): Instance | null {
  const file = fileOf(folder);
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  let kept: unknown = null;
  try {
    kept = JSON.parse(text);
  } catch {
    // The error is reported below, with the remedy.
  }
  if (!isInstance(kept)) throw new Error(`${file} is damaged; move it away and start again`);
  return kept;
}

/** A moved or copied data folder takes its paths along; the old location's socket is not its own. */
const following = (kept: Instance, folder: string): Instance =>
  kept.folder === folder ? kept : { ...kept, folder, run_dir: chooseRunDir(path.dirname(folder)) };

/** The instance kept in `<data>/engine/instance.json`, or null where there is none. Throws where it cannot be read. */
export function loadInstance(dataFolder: string): Instance | null {
  const folder = folderOf(dataFolder);
  const kept = readKept(folder);
  return kept === null ? null : following(kept, folder);
}

async function withFreePorts(instance: Instance, wanted: Ports): Promise<Instance> {
  const stays = async (port: number): Promise<boolean> => port <= LAST_PORT && (await isFree(port));
  const [ami, http] = await Promise.all([stays(instance.ami_port), stays(instance.http_port)]);
  if ((ami && http) || findLiving(instance) !== null) return instance;
  const [first = 0, second = 0] = await freePorts(2);
  return {
    ...instance,
    ami_port: wanted.ami_port ?? (ami ? instance.ami_port : first),
    http_port: wanted.http_port ?? (http ? instance.http_port : second),
  };
}

/**
 * The engine's own folder for recordings is a link to ours, so that its configuration and our verbs name files without a
 * folder, whatever the path of the site contains. Recordings of an earlier version are moved along.
 */
function keepRecordings(instance: Instance): void {
  const folder = recordingsDir(instance);
  const place = path.join(instance.folder, 'spool', 'monitor');
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const found = fs.lstatSync(place, { throwIfNoEntry: false });
  if (found?.isSymbolicLink()) return;
  if (found !== undefined) {
    for (const name of fs.readdirSync(place)) fs.renameSync(path.join(place, name), path.join(folder, name));
    fs.rmdirSync(place);
  }
  fs.symlinkSync(path.join('..', '..', path.basename(folder)), place);
}

async function newInstance(folder: string, options: CreateInstanceOptions): Promise<Instance> {
  const [ami = 0, http = 0] = await freePorts(2);
  const secret = (): string => randomBytes(24).toString('base64url');
  return {
    folder,
    run_dir: chooseRunDir(path.dirname(folder)),
    node: options.node ?? 'ast1',
    ami_port: options.ports?.ami_port ?? ami,
    http_port: options.ports?.http_port ?? http,
    ami_events: { user: 'offhook-events', secret: secret() },
    ami_actions: { user: 'offhook-actions', secret: secret() },
  };
}

/**
 * The engine instance of a data folder: created once (free loopback ports, random secrets, mode 0600) and loaded from then on.
 * Where its engine does not run and another program has one of its ports, or may get it for an outgoing connection, new ones are
 * chosen. Creates its folders. Throws where they cannot be created.
 */
export async function createInstance(
  dataFolder: string,
  options: CreateInstanceOptions = {},
): Promise<Instance> {
  fs.mkdirSync(path.join(dataFolder, 'engine'), { recursive: true, mode: 0o700 });
  const folder = folderOf(dataFolder);
  const kept = readKept(folder);
  const instance =
    kept === null
      ? await newInstance(folder, options)
      : await withFreePorts(following(kept, folder), options.ports ?? {});
  if (options.node !== undefined && instance.node !== options.node)
    throw new StartError(
      'node_renamed',
      `${folder} belongs to the node ${instance.node}, whose name is in every id of its calls: give OFFHOOK_NODE=${instance.node}`,
    );
  if (instance !== kept) write(instance);
  for (const name of ['etc', 'log', 'lib', 'spool']) {
    fs.mkdirSync(path.join(folder, name), { recursive: true, mode: 0o700 });
  }
  keepRecordings(instance);
  makeRunDir(instance.run_dir);
  return instance;
}
