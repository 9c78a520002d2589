/** Starts the reconstructions of other systems' approaches as peers; reconstructions.ts describes them. */
import { SUBJECT_CORE, end, firstLine, start } from './lib.ts';

/** Options of all roles; each role reads only its own. */
export interface Reconstruction {
  /** Ports of the daemon of the tokens and of the daemon of the manager. */
  readonly auth?: number;
  readonly amid?: number;
  /** File with the list of contacts as ours sends it. */
  readonly contacts?: string;
  /** Command line of the engine, up to `-rx`. */
  readonly engine?: readonly string[];
  readonly ami?: { readonly port: number; readonly user: string; readonly secret: string };
  readonly agents?: readonly string[];
}
/** Body of a pause; `queue` is null for all queues of the agent. */
export interface PauseBody {
  readonly agent: string;
  readonly paused: boolean;
  readonly queue: string | null;
}
export const TOKEN = 'a-token-of-somebody';

/** Note of each row with a reconstruction. */
export const RECONSTRUCTIONS =
  'The reconstructions are ours and none of their code is theirs: bench/reconstructions.ts says what each does, and from which source that is known. Each leaves out work of its original (Node for Python, SQLite in the process for PostgreSQL, connections and a web server that stay, no rights for the command line), so its figures are a floor of the approach and not a measurement of the product.';

/** Starts a reconstruction on the core of the subjects; `stack` ends it. */
export async function reconstruct(role: string, options: Reconstruction, stack: AsyncDisposableStack) {
  const child = start('reconstructions.ts', [role, JSON.stringify(options)], SUBJECT_CORE);
  stack.defer(() => end(child));
  const { port } = await firstLine<{ port: number }>(child);
  return { port, url: `http://127.0.0.1:${port}/`, pid: child.pid! };
}
