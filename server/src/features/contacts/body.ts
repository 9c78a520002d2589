import { hash, randomBytes } from 'node:crypto';
import type { ContactsQuery } from '@offhook/contract/extensions.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { pageOf } from '../../core/page.ts';
import type { Objects } from '../../rights/rights.ts';
import type { Directory, Person } from '../../ports/directory.ts';
import type { LiveExtension, LiveView } from '../../ports/live.ts';
import { contactOf } from './contact.ts';
import { matcherOf, searched } from '@offhook/contract/search.ts';

interface Item {
  readonly person: Person;
  readonly live: LiveExtension | undefined;
  readonly json: string;
}
/** Contacts encoded together: one change encodes this many again. */
const PER_PART = 256;
/**
 * Most parts that are joined to one buffer, because few writes cost less than a copy. A larger list is sent in its parts:
 * copies of 4 MB for each change would make the main thread collect garbage after every fifteenth.
 */
const MOST_JOINED = 8;

/** The bodies of contacts.php, kept ready: unchanged parts are not built again for the next request. */
export interface ContactsBody {
  /** Changes with every change of the whole list and of `stale`, and with `seen`; quoted, as the header requires. */
  etag(seen?: Objects): string;
  /**
   * The contacts in `seen` (null for all), or the part of them that the query requests, as the pieces of one text. The buffers
   * must not be written to. Throws `invalid_request` for an offset beside a cursor, and for a cursor of another search.
   */
  body(query?: ContactsQuery, seen?: Objects): readonly Buffer[];
}

/**
 * Cursor of the page that ends with this extension, valid only with the same `q`. Without a filter it is the extension
 * alone. It names no secret, so it is not signed, and every node and life of the service accepts it.
 */
const cursorOf = (extension: string, q: string): string =>
  q === '' ? extension : `${extension}.${hash('sha256', q, 'base64url').slice(0, 16)}`;
/** The extension at the end of the page before. Throws `invalid_request` for a cursor of another search. */
function afterOf(cursor: string, q: string): string {
  const extension = cursor.split('.', 1)[0]!;
  if (cursor === cursorOf(extension, q)) return extension;
  throw new ServiceError('invalid_request', 'cursor: must be a cursor of this list');
}
/** By length, then by character: for extensions, which are digits, the order of their numbers. */
const byExtension = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : Number(a > b));

/** The contacts of one page, at most `limit`, and the number of all that match. O(contacts); keeps only the page. */
function matching(
  { items, texts }: { readonly items: readonly Item[]; readonly texts: readonly string[] },
  q: string,
  seen: ReadonlySet<string> | null,
  { limit, offset, after }: { limit: number; offset: number; after: string | undefined },
): { total: number; found: readonly Item[] } {
  const matches = matcherOf(q);
  const found: Item[] = [];
  let [total, skipped] = [0, 0];
  for (let i = 0; i < texts.length; i += 1) {
    if (!matches(texts[i]!)) continue;
    const item = items[i]!;
    if (seen !== null && !seen.has(item.person.extension)) continue;
    total += 1;
    if (found.length >= limit) continue;
    // The contact at the cursor may have been removed.
    if (after !== undefined && byExtension(item.person.extension, after) <= 0) continue;
    if (skipped < offset) skipped += 1;
    else found.push(item);
  }
  return { total, found };
}

/** `startedAt` (milliseconds since 1970) is the time of the list while nothing is known from the engine yet. */
export function createContactsBody(directory: Directory, live: LiveView, startedAt: number): ContactsBody {
  /** Versions begin again in every process; with this part a tag of another process never matches. */
  const life = randomBytes(6).toString('base64url');
  let items: Item[] = [];
  /** Text of each item for `matcherOf`; a separate array, because a search reads nothing else of most items. */
  let texts: string[] = [];
  let place = new Map<string, number>();
  let parts: (Buffer | null)[] = [];
  let directoryVersion = -1;
  let presenceVersion = -1;
  let stale = true;
  let asOf = startedAt;
  let whole: readonly Buffer[] | null = null;

  const itemOf = (person: Person, was: Item | undefined): Item => {
    const now = live.extension(person.extension);
    if (was && was.person === person && was.live === now) return was;
    return { person, live: now, json: JSON.stringify(contactOf(person, now, startedAt)) };
  };
  const replace = (index: number): void => {
    const was = items[index]!;
    const item = itemOf(was.person, was);
    if (item === was) return;
    items[index] = item;
    parts[Math.floor(index / PER_PART)] = null;
  };
  const readDirectory = (): void => {
    const people = directory
      .people()
      .filter((person) => person.active && person.extension !== '')
      .toSorted((a, b) => byExtension(a.extension, b.extension));
    const before = people.map((person) => place.get(person.extension) ?? -1);
    texts = people.map((person, i) =>
      items[before[i]!]?.person === person
        ? texts[before[i]!]!
        : searched([person.name, person.department], [person.extension, person.mobile]),
    );
    items = people.map((person, i) => itemOf(person, items[before[i]!]));
    place = new Map(items.map((item, index) => [item.person.extension, index]));
    parts = Array.from({ length: Math.ceil(items.length / PER_PART) }, () => null);
  };
  const refresh = (): void => {
    const isStale = !live.live;
    const { version } = directory;
    const presence = live.presence_version;
    if (version === directoryVersion && presence === presenceVersion && isStale === stale) return;
    if (version !== directoryVersion) readDirectory();
    else if (presence !== presenceVersion) {
      const changed = live.changedSince(presenceVersion);
      if (changed === null) for (let i = 0; i < items.length; i += 1) replace(i);
      else {
        for (const extension of changed) {
          const index = place.get(extension);
          if (index !== undefined) replace(index);
        }
      }
    }
    directoryVersion = version;
    presenceVersion = presence;
    stale = isStale;
    asOf = live.as_of > 0 ? live.as_of : startedAt;
    whole = null;
  };

  const head = (total: number, next: string | null): string =>
    `{"success":true,"total":${total},"as_of":"${rfc3339(asOf)}","stale":${stale},"next_cursor":${JSON.stringify(next)},"contacts":[`;
  const partAt = (n: number): Buffer => {
    const some = items.slice(n * PER_PART, (n + 1) * PER_PART).map((item) => item.json);
    return (parts[n] ??= Buffer.from(`${n === 0 ? '' : ','}${some.join(',')}`));
  };
  const wholeBody = (): readonly Buffer[] => {
    const pieces = [
      Buffer.from(head(items.length, null)),
      ...parts.map((_, n) => partAt(n)),
      Buffer.from(']}'),
    ];
    return parts.length > MOST_JOINED ? pieces : [Buffer.concat(pieces)];
  };
  return {
    etag(seen = null) {
      refresh();
      const part = seen === null ? '' : `.${hash('sha256', seen.join(), 'base64url').slice(0, 12)}`;
      return `"${life}.${directoryVersion}.${presenceVersion}.${stale ? 's' : 'l'}${part}"`;
    },
    body({ q = '', limit, offset = 0, cursor } = {}, seen = null) {
      if (cursor !== undefined && offset > 0) {
        throw new ServiceError('invalid_request', 'offset: cannot be used with cursor');
      }
      const after = cursor === undefined ? undefined : afterOf(cursor, q);
      refresh();
      const isWhole = q === '' && limit === undefined && offset === 0 && cursor === undefined;
      if (seen === null && isWhole) return (whole ??= wholeBody());
      const who = seen === null ? null : new Set(seen);
      const most = limit ?? items.length;
      const { total, found } = matching({ items, texts }, q, who, { limit: most + 1, offset, after });
      const { page, next_cursor } = pageOf(found, most, ({ person }) => cursorOf(person.extension, q));
      return [Buffer.from(`${head(total, next_cursor)}${page.map((item) => item.json).join(',')}]}`)];
    },
  };
}
