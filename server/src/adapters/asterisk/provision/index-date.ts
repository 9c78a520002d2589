/** Dates of signed package indexes: of the one apt verified, and the newest this cache has seen. */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { ProvisionError } from './error.ts';

/** Milliseconds since 1970 by suite, e.g. `forky-security`. */
export type IndexDates = Readonly<Record<string, number>>;

const seenFile = (cache: string): string => path.join(cache, 'indexes.json');
const rfc3339 = (ms: number): string => new Date(ms).toISOString();

/** The `Date` of the index of `suite` whose signature apt verified. Errors: ProvisionError. */
export async function readIndexDate(lists: string, mirror: string, suite: string): Promise<number> {
  const host = mirror.replace(/^[a-z]+:\/\//, '').replaceAll('/', '_');
  const names = await fs.readdir(lists).catch(() => []);
  // apt escapes some characters of an address as %xx, so only the suite at the end of the name identifies a file.
  const found = names.filter((name) => /_(?:In)?Release$/.test(name) && name.includes(`_dists_${suite}_`));
  const file = found.find((name) => name.startsWith(host)) ?? found[0];
  const text = file === undefined ? '' : await fs.readFile(path.join(lists, file), 'utf8');
  const date = Date.parse(/^Date: (.+)$/m.exec(text)?.[1] ?? '');
  if (Number.isNaN(date))
    throw new ProvisionError('untrusted', `the index of ${suite} from ${mirror} carries no date`);
  return date;
}

async function seenDates(cache: string): Promise<IndexDates> {
  try {
    const read = JSON.parse(await fs.readFile(seenFile(cache), 'utf8')) as Record<string, unknown>;
    return Object.fromEntries(
      Object.entries(read).flatMap(([suite, text]) => {
        const date = Date.parse(String(text));
        return Number.isNaN(date) ? [] : [[suite, date]];
      }),
    );
  } catch {
    return {};
  }
}
/**
 * Rejects an index older than the newest this cache has seen of that suite, else stores its date. Signatures do not expire: an
 * attacker on the way could replay what Debian signed before a fix. Requires the lock of the cache.
 */
export async function refuseReplay(
  cache: string,
  source: { readonly mirror: string; readonly suite: string },
  date: number,
): Promise<void> {
  const seen = await seenDates(cache);
  const newest = seen[source.suite] ?? 0;
  if (date < newest)
    throw new ProvisionError(
      'outdated',
      `${source.mirror} sent an index of ${source.suite} of ${rfc3339(date)}, and one of ${rfc3339(newest)} was seen before: a mirror that lags behind, or a replay`,
    );
  if (date === newest) return;
  const all = Object.entries({ ...seen, [source.suite]: date }).map(([suite, ms]) => [suite, rfc3339(ms)]);
  const temporary = `${seenFile(cache)}.${randomBytes(4).toString('hex')}`;
  await fs.writeFile(temporary, `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`, { flush: true });
  await fs.rename(temporary, seenFile(cache));
}
