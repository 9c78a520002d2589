import type { Log } from '../../../core/log.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Instance } from '../conf/instance.ts';
import { engineCommand } from './control.ts';
import { lives } from './living.ts';
import type { Living } from './living.ts';

const STOP_MS = { command: 3_000, ends: 8_000, term: 4_000, kill: 4_000 };

export function signalTo(target: Living, signal: NodeJS.Signals): void {
  try {
    // Checked again right before: the pid alone could belong to another process.
    if (lives(target)) process.kill(target.pid, signal);
  } catch {
    // It ended by itself meanwhile.
  }
}

async function goneWithin(target: Living, ms: number, clock: Clock): Promise<boolean> {
  const deadline = clock.now() + ms;
  while (lives(target)) {
    if (clock.now() >= deadline) return false;
    await clock.sleep(25);
  }
  return true;
}
/** Ends a program by SIGTERM, then SIGKILL. Resolves when it has ended. */
export async function endBySignal(
  target: Living,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  term_ms: number = STOP_MS.term,
): Promise<void> {
  signalTo(target, 'SIGTERM');
  if (await goneWithin(target, term_ms, clock)) return;
  log.warn({ pid: target.pid }, 'the process did not stop in time and is killed');
  signalTo(target, 'SIGKILL');
  if (!(await goneWithin(target, STOP_MS.kill, clock)))
    throw new Error(`process ${target.pid} cannot be ended`);
}

/** Ends the engine by its own command, then SIGTERM, then SIGKILL. Resolves when it has ended. */
export async function endEngine(
  target: Living,
  { instance, clock, log }: { readonly instance: Instance; readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const options = { timeout_ms: STOP_MS.command };
  const asked = await engineCommand({ command: target.command }, instance, 'core stop now', options).then(
    () => true,
    () => false,
  );
  if (asked && (await goneWithin(target, STOP_MS.ends, clock))) return;
  await endBySignal(target, { clock, log });
}
