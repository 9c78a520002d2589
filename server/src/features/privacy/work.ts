/** Steps of a job; each is idempotent, so that an interrupted job is repeated. */
import { rfc3339 } from '../../core/clock.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { KnownAbout, PersonalData, Places } from '../../ports/privacy.ts';

/** Limit of repeated erasures, needed for calls in progress. */
const ROUNDS = 3;
/** Limit for moving and deleting the engine's own files. */
const FORGET_MS = 30_000;

const sum = (a: Places, b: Places): Places => {
  const all = { ...a };
  for (const [place, n] of Object.entries(b)) all[place] = (all[place] ?? 0) + n;
  return all;
};
export async function countAll(
  holders: readonly PersonalData[],
  subject: Subject,
  signal: AbortSignal,
): Promise<Places> {
  let found: Places = {};
  for (const holder of holders) found = sum(found, await holder.count(subject, signal));
  return found;
}
export interface Erased {
  readonly erased: Places;
  readonly after: Places;
  /** True if the engine's own files are gone, too. */
  readonly files_gone: boolean;
}
/** Erases until nothing is found; reports the remaining places. */
export async function eraseAll(
  holders: readonly PersonalData[],
  subject: Subject,
  placeholder: string,
  forget: ((signal: AbortSignal) => Promise<void>) | undefined,
  signal: AbortSignal,
): Promise<Erased> {
  let erased: Places = {};
  let after: Places = {};
  let files_gone = false;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const holder of holders) erased = sum(erased, await holder.erase(subject, placeholder, signal));
    files_gone = await forgotten(forget, signal);
    after = await countAll(holders, subject, signal);
    if (Object.keys(after).length === 0) break;
  }
  return { erased, after, files_gone };
}
async function forgotten(
  forget: ((signal: AbortSignal) => Promise<void>) | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  if (forget === undefined) return false;
  try {
    await forget(AbortSignal.any([signal, AbortSignal.timeout(FORGET_MS)]));
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
export interface FileParts {
  readonly now: number;
  /** Receives the number of items so far. */
  readonly counted: (items: number) => void;
  /** Read after the last item. */
  readonly missing: () => readonly object[];
}
/** A file of JSON lines, one item each. */
export async function* fileOf(
  holders: readonly PersonalData[],
  known: { readonly items: readonly KnownAbout[]; readonly usernames: readonly string[] },
  subject: Subject,
  { now, counted, missing }: FileParts,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let items = 0;
  const line = (item: KnownAbout): Buffer => {
    items += 1;
    counted(items);
    return Buffer.from(`${items === 1 ? '' : ','}\n${JSON.stringify(item)}`);
  };
  const { kind, value } = subject;
  yield Buffer.from(`{"about":${JSON.stringify({ kind, value })},"made_at":"${rfc3339(now)}","items":[`);
  for (const item of known.items) yield line(item);
  for (const holder of holders) {
    if (holder.collect === undefined) continue;
    for await (const item of holder.collect(subject, known.usernames, signal)) yield line(item);
  }
  yield Buffer.from(`\n],"missing":${JSON.stringify(missing())}}\n`);
}
