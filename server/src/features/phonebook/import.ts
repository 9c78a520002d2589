import { setImmediate as yieldLoop } from 'node:timers/promises';
import { MAX_MATCHES } from '@offhook/contract/phonebook.ts';
import { MAX_FINDINGS, MAX_IMPORT_ROWS } from '@offhook/contract/phonebook-files.ts';
import type { ImportFinding } from '@offhook/contract/phonebook-files.ts';
import { fold } from '@offhook/contract/search.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Queue } from '../../core/queue.ts';
import { say } from '../../core/said.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CustomerRow } from './rows.ts';
import type { PhonebookStore } from './store.ts';
import { isForeign, keyOf } from './rows.ts';
import { checkLine, findingOf } from './import-check.ts';
import type { Checks, Given } from './import-check.ts';
import type { Line, Lines } from './line.ts';

/** Lines stored in one transaction. */
const AT_ONCE = 100;

export interface ReaderOptions extends Omit<Checks, 'report'> {
  readonly store: Pick<PhonebookStore, 'named' | 'withExternalIds'>;
  readonly clock: Clock;
  /** Runs one change after the other. */
  readonly writes: Queue;
}
/** Reads the lines of a file as customers of this person; `keep` stores those of a part of the file, null for a dry run. */
export type ReadFile = (
  lines: Lines,
  person: number,
  keep: ((rows: readonly CustomerRow[]) => Promise<void>) | null,
) => Promise<Tally>;
export interface Tally {
  rows: number;
  created: number;
  updated: number;
  unchanged: number;
  left_out: number;
  without_e164: number;
  findings_total: number;
  readonly findings: ImportFinding[];
}

const namedAs = (name: string, one: CustomerRow['numbers'][number]): string => `${fold(name)}\n${keyOf(one)}`;
/** Uids and names of earlier lines of the file, so that no line changes the customer of another line. */
class Earlier {
  readonly #uids = new Set<string>();
  /** Name and number of a line; true for a line with a uid. */
  readonly #names = new Map<string, boolean>();

  /** Whether an earlier line is the same customer; else this line is remembered. */
  has({ name, numbers, external_id }: Given): boolean {
    const uid = external_id ?? null;
    const names = numbers.map((one) => namedAs(name, one));
    if (uid !== null && this.#uids.has(uid)) return true;
    if (names.some((one) => this.#names.has(one) && (uid === null || this.#names.get(one) === false)))
      return true;
    if (uid !== null) this.#uids.add(uid);
    for (const one of names) this.#names.set(one, uid !== null);
    return false;
  }
}
const compared = ({ updated_at: _at, version: _version, ...row }: CustomerRow): string =>
  JSON.stringify(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)));

/** The customer with the given fields; null where that changes nothing. */
export function merged(
  given: Given,
  known: CustomerRow | undefined,
  { now, ...origin }: Pick<CustomerRow, 'person_id' | 'source'> & { readonly now: number },
): CustomerRow | null {
  if (known === undefined) {
    const empty = { kind: 'person', company: null, note: null, owner: null, language: null } as const;
    const own = { ...origin, id: 0, updated_at: now, version: 1, external_id: null, url: null };
    return { ...empty, vip: false, blocked: false, emails: [], ...own, ...given };
  }
  // A known number keeps its spelling, because an export writes it in E.164.
  const numbers = given.numbers.map((one) => {
    const same = known.numbers.find((other) => keyOf(other) === keyOf(one));
    return same === undefined ? one : { ...same, label: one.label };
  });
  const next = { ...known, ...given, numbers, external_id: given.external_id ?? known.external_id };
  return compared(next) === compared(known) ? null : { ...next, updated_at: now, version: known.version + 1 };
}

/** Throws `invalid_request` for a file that cannot be read to its end, or has more than `MAX_IMPORT_ROWS`. */
export async function checkRows(lines: Lines): Promise<void> {
  let rows = 0;
  for await (const _line of lines) {
    rows += 1;
    if (rows > MAX_IMPORT_ROWS)
      throw new ServiceError(
        'invalid_request',
        say`body: a file has at most ${MAX_IMPORT_ROWS} rows; send it in parts`,
      );
    if (rows % 1_000 === 0) await yieldLoop();
  }
}

export function fileReader({ store, clock, writes, e164, isPerson }: ReaderOptions): ReadFile {
  /** Finds a customer by its uid, else by its name and one of its numbers; one that has another uid is another customer. */
  async function matcher(person: number, some: readonly Given[]) {
    const most = some.length * MAX_MATCHES;
    const keys = new Set(some.flatMap(({ numbers }) => numbers.map(keyOf)));
    const names = new Set(some.map(({ name }) => name));
    const uids = some.flatMap(({ external_id }) => external_id ?? []);
    const rows = [
      // By the name too: hundreds of customers can share the number of a switchboard.
      ...(await store.named(person, [...names], [...keys], most)),
      ...(await store.withExternalIds(person, uids, most)),
    ];
    // The ids of a connected system could equal uids of files by chance.
    const byUid = new Map(rows.filter((row) => !isForeign(row)).map((row) => [row.external_id, row]));
    const byName = Map.groupBy(
      rows.flatMap((row) => row.numbers.map((one) => ({ row, named: namedAs(row.name, one) }))),
      ({ named }) => named,
    );
    return ({ name, numbers, external_id }: Given): CustomerRow | undefined => {
      const uid = external_id ?? null;
      const same = uid === null ? undefined : byUid.get(uid);
      return (
        same ??
        numbers
          .flatMap((one) => byName.get(namedAs(name, one)) ?? [])
          .find(({ row }) => uid === null || row.external_id === null || isForeign(row))?.row
      );
    };
  }
  /** Reads the whole file; `keep` stores the customers of some lines. */
  async function read(
    lines: Lines,
    person: number,
    keep: ((rows: readonly CustomerRow[]) => Promise<void>) | null,
  ): Promise<Tally> {
    const tally: Tally = {
      rows: 0,
      created: 0,
      updated: 0,
      unchanged: 0,
      left_out: 0,
      without_e164: 0,
      findings_total: 0,
      findings: [],
    };
    const report = (finding: ImportFinding): void => {
      tally.findings_total += 1;
      if (tally.findings.length < MAX_FINDINGS) tally.findings.push(finding);
    };
    const earlier = new Earlier();
    async function take(some: readonly Line[]): Promise<void> {
      const taken: Given[] = [];
      for (const line of some) {
        tally.rows += 1;
        const given = checkLine(line, { e164, isPerson, report });
        if (given !== null && !earlier.has(given)) {
          taken.push(given);
          tally.without_e164 += given.numbers.filter((one) => one.e164 === null).length;
          continue;
        }
        tally.left_out += 1;
        if (given !== null) report(findingOf(line, 'name', 'duplicate', 'line'));
      }
      const match = await matcher(person, taken);
      const rows: CustomerRow[] = [];
      for (const given of taken) {
        const known = match(given);
        // A system outside owns this customer: a line for it, e.g. from an export, changes nothing.
        const next =
          known !== undefined && isForeign(known)
            ? null
            : merged(given, known, { person_id: person, source: 'import', now: clock.now() });
        tally[next === null ? 'unchanged' : known === undefined ? 'created' : 'updated'] += 1;
        if (next !== null) rows.push(next);
      }
      if (keep !== null && rows.length > 0) await keep(rows);
    }
    let held: Line[] = [];
    const flush = async (): Promise<void> => {
      const some = held;
      held = [];
      await (keep === null ? take(some) : writes.run(() => take(some)));
      await yieldLoop();
    };
    for await (const line of lines) {
      held.push(line);
      if (held.length === AT_ONCE) await flush();
    }
    await flush();
    return tally;
  }
  return read;
}
