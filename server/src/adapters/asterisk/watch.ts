/** Checks on a schedule that the engine answers SIP, completes a call, writes its records and works off its task queues. */
import { open, stat } from 'node:fs/promises';
import { messageOf } from '../../core/errors.ts';
import type { EngineWatch, Finding } from '../../ports/engine-site.ts';
import type { Common } from '../../ports/common.ts';
import { askSip } from './sip-probe.ts';

const WATCHED = ['sip', 'call', 'call_records', 'task_queues'] as const;
type WatchedThing = (typeof WATCHED)[number];
export interface EngineWatchOptions extends Common<'clock' | 'log'> {
  /** False while the link to the engine is down; the checks pause then. */
  readonly up: () => boolean;
  readonly sip: { readonly host: string; readonly port: number };
  /** Name of an account that does not exist: the engine refuses it, and the refusal proves that SIP works. */
  readonly account: string;
  readonly placeCall: (ms: number, signal: AbortSignal) => Promise<string>;
  /** File of the engine's call records. */
  readonly recordFile: string;
  /** Answer of the engine's console. */
  readonly console: (text: string, signal: AbortSignal) => Promise<string>;
}

const SIP_EVERY_MS = 5_000;
const SIP_MS = 3_000;
const CALL_EVERY_MS = 60_000;
const CALL_MS = 5_000;
const RECORD_MS = 5_000;
const TASKS_EVERY_MS = 30_000;
/**
 * Delay before a failed check is repeated; only the second failure counts, because a busy machine stalls for a second now
 * and then.
 */
const AGAIN_MS = 1_000;
const LOOK_MS = 100;
/** Interval at which a check looks whether the engine is up in the first half minute: readiness waits for the first results. */
const FIRST_UP_MS = 20;
const STARTS_MS = 30_000;
/** Limit of the bytes searched for a record: a busy site writes less in a minute. */
const MOST_BYTES = 8 * 1024 * 1024;

/** True when the file contains `text` behind its first `from` bytes. */
async function appended(
  file: string,
  from: { readonly size: number; readonly inode: number },
  text: string,
): Promise<boolean> {
  try {
    const handle = await open(file, 'r');
    try {
      const { size, ino } = await handle.stat();
      const begin = ino === from.inode && size >= from.size ? from.size : 0;
      const bytes = Buffer.alloc(Math.min(size - begin, MOST_BYTES));
      await handle.read(bytes, 0, bytes.length, Math.max(begin, size - bytes.length));
      return bytes.includes(text);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
interface Queue {
  readonly name: string;
  readonly waiting: number;
  readonly most: number;
}
const QUEUE = /^[ \t]*(\S+)[ \t]+\d+[ \t]+(\d+)[ \t]+\d+[ \t]+\d+[ \t]+(\d+)(?:[ \t]+\d+)*[ \t\r]*$/gm;
/**
 * `core show taskprocessors`: name, processed, in queue, max depth, low water, high water, and more. One expression for the whole
 * text, because each endpoint has queues of its own.
 */
export const taskQueues = (text: string): readonly Queue[] =>
  [...text.matchAll(QUEUE)].map(([, name = '', waiting, most]) => ({
    name,
    waiting: Number(waiting),
    most: Number(most),
  }));

export function watchEngine(options: EngineWatchOptions): EngineWatch {
  const { up, clock, placeCall, recordFile } = options;
  const log = options.log.child({ part: 'watch' });
  const stop = new AbortController();
  const { signal } = stop;
  const DOWN: Finding = { ok: false, detail: 'the engine is not up' };
  const UNTRIED: Finding = { ok: false, detail: 'not tried yet' };
  const found = new Map<string, Finding>();
  let waitingTasks = 0;
  const put = (what: WatchedThing, finding: Finding): void => {
    const before = found.get(what);
    found.set(what, finding);
    // The link reports its own loss, so only a change between two results of a check is logged.
    if (signal.aborted || finding === DOWN) return;
    if (before?.ok === finding.ok || ((before === undefined || before === DOWN) && finding.ok)) return;
    const context = { check: what, detail: finding.detail };
    if (finding.ok) log.info(context, 'a check of the engine passes again');
    else log.error(context, 'a check of the engine fails');
  };
  const failed = (error: unknown): Finding => ({ ok: false, detail: messageOf(error) });

  async function sip(): Promise<Finding> {
    const began = performance.now();
    const status = await askSip(options.sip, options.account, SIP_MS);
    return { ok: true, detail: `answered ${status} in ${Math.ceil(performance.now() - began)} ms` };
  }
  /** Stores the result of `call_records` as well. */
  async function call(): Promise<Finding> {
    const before = await stat(recordFile).then(
      ({ size, ino }) => ({ size, inode: ino }),
      () => ({ size: 0, inode: 0 }),
    );
    const began = performance.now();
    const id = await placeCall(CALL_MS, signal);
    const ms = Math.ceil(performance.now() - began);
    const until = clock.now() + RECORD_MS;
    let written = await appended(recordFile, before, id);
    while (!written && clock.now() < until) {
      await clock.sleep(LOOK_MS, signal);
      written = await appended(recordFile, before, id);
    }
    put(
      'call_records',
      written
        ? { ok: true, detail: 'written' }
        : { ok: false, detail: `the engine wrote no record of a call in ${RECORD_MS / 1000} s` },
    );
    return { ok: true, detail: `answered in ${ms} ms` };
  }
  async function tasks(): Promise<Finding> {
    const queues = taskQueues(await options.console('core show taskprocessors', signal));
    if (queues.length === 0) return { ok: false, detail: 'the engine names no task queues' };
    const fullest = queues.reduce((a, b) => (b.waiting * a.most > a.waiting * b.most ? b : a));
    waitingTasks = fullest.waiting;
    return {
      ok: fullest.waiting < fullest.most,
      detail: `${fullest.waiting} wait in ${fullest.name}, which holds ${fullest.most}`,
    };
  }
  async function repeat(what: WatchedThing, every: number, attempt: () => Promise<Finding>): Promise<void> {
    const began = clock.now();
    for (;;) {
      if (!up()) {
        put(what, DOWN);
        if (what === 'call') put('call_records', DOWN);
        await clock.sleep(clock.now() - began > STARTS_MS ? LOOK_MS : FIRST_UP_MS, signal);
        continue;
      }
      let finding = await attempt().catch(failed);
      if (!finding.ok && up()) {
        await clock.sleep(AGAIN_MS, signal);
        finding = await attempt().catch(failed);
      }
      put(what, finding);
      const next = clock.now() + every;
      while (clock.now() < next && up()) await clock.sleep(LOOK_MS, signal);
    }
  }
  const loops = [
    repeat('sip', SIP_EVERY_MS, sip),
    repeat('call', CALL_EVERY_MS, call),
    repeat('task_queues', TASKS_EVERY_MS, tasks),
  ].map((loop) => loop.catch(() => undefined));
  return {
    checks: WATCHED,
    finding: (what) => found.get(what) ?? UNTRIED,
    get waitingTasks() {
      return waitingTasks;
    },
    async close() {
      stop.abort();
      await Promise.all(loops);
    },
  };
}
