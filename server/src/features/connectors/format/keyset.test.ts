/** Files whose pages begin after a key, with servers that answer as documented, while rows change between the pages. */
import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { openForTest, startSystem } from '../../../../test/support/connector-rig.ts';
import type { AskedOfSystem } from '../../../../test/support/connector-rig.ts';
import { frappeList } from '../../../../test/support/frappe.ts';
import { REPOSITORY } from '../../../../test/support/sources.ts';
import type { ConnectorSession } from './session.ts';

const ROWS = 2_400;
type Row = Readonly<Record<string, string | number | false>>;
type Term = '|' | readonly [field: string, sign: string, value: string | number | boolean];

function holds(row: Row, [field, sign, value]: Exclude<Term, '|'>): boolean {
  const is = row[field]!;
  if (sign === '>') return is > value;
  if (sign === '>=') return is >= value;
  if (sign === '!=') return is !== value;
  if (sign === '=') return is === value;
  throw new Error(`sign ${sign}`);
}
/** Terms in the prefix notation of Odoo: `|` joins the next two, all others are joined by and. */
function matches(row: Row, domain: readonly Term[]): boolean {
  const terms = [...domain];
  const next = (): boolean => {
    const term = terms.shift()!;
    if (term !== '|') return holds(row, term);
    const [a, b] = [next(), next()];
    return a || b;
  };
  let all = true;
  while (terms.length > 0) all = next() && all;
  return all;
}
const sorted = (rows: readonly Row[], order: string): Row[] => {
  const [field = '', direction = 'asc'] = order.split(' ');
  const sign = direction === 'asc' ? 1 : -1;
  return rows.toSorted((a, b) => (a[field]! < b[field]! ? -sign : sign));
};
/** Each contact has two numbers. */
const frappe = (rows: readonly Row[], asked: AskedOfSystem): unknown =>
  frappeList(
    rows.map((row) => ({ ...row, phone_nos: [{ phone: row['phone'] }, { phone: `${row['phone']}0` }] })),
    asked,
  );
/** EspoCRM answers at most 200 users. */
function espocrm(rows: readonly Row[], { path: asked }: AskedOfSystem): unknown {
  const query = new URL(asked, 'http://espocrm').searchParams;
  const above = query.get('where[1][type]') === 'greaterThan' ? query.get('where[1][value]')! : '';
  const [field, start] = [query.get('orderBy') ?? 'createdAt', Number(query.get('offset') ?? 0)];
  const found = sorted(rows, `${field} ${query.get('order')}`).filter(({ id }) => String(id) > above);
  return { total: rows.length, list: found.slice(start, start + Number(query.get('maxSize'))) };
}
interface Search {
  readonly domain: readonly Term[];
  readonly order?: string;
  readonly offset?: number;
  readonly limit?: number;
}
function odoo(rows: readonly Row[], { domain, order = 'name', offset = 0, limit = Infinity }: Search): Row[] {
  const found = sorted(rows, order).filter((row) => matches(row, domain));
  return found.slice(offset, offset + limit);
}
interface Rpc {
  readonly params: {
    readonly args: readonly [string, number, string, string, string, [readonly Term[]], Search];
  };
}
const SYSTEMS = {
  erpnext: {
    settings: { key: 'k', secret: 'secret' },
    answer: (rows: readonly Row[], asked: AskedOfSystem): unknown => frappe(rows, asked),
  },
  frappe: {
    settings: { key: 'k', secret: 'secret' },
    answer: (rows: readonly Row[], asked: AskedOfSystem): unknown => frappe(rows, asked),
  },
  odoo: {
    settings: { database: 'd', key: 'secret' },
    answer: (rows: readonly Row[], { body }: AskedOfSystem): unknown =>
      odoo(rows, JSON.parse(body) as Search),
  },
  'odoo-jsonrpc': {
    settings: { database: 'd', user: '2', key: 'secret' },
    answer: (rows: readonly Row[], { body }: AskedOfSystem): unknown => {
      const [, , , , , [domain], options] = (JSON.parse(body) as Rpc).params.args;
      return { jsonrpc: '2.0', id: 1, result: odoo(rows, { ...options, domain }) };
    },
  },
};
const rowOf = (n: number): Row => {
  const name = `Contact ${String(n).padStart(5, '0')}`;
  const phone = `+4930${n}`;
  return {
    id: n,
    name,
    full_name: name,
    phone,
    mobile: false,
    mobile_no: '',
    modified: '2026-11-20 08:00:00.000000',
  };
};

/** Reads a whole sync; `between` runs after each page. */
async function readAll(
  session: ConnectorSession,
  from: string | null,
  between: () => void,
): Promise<{ readonly names: ReadonlySet<string>; readonly cursor: string | null }> {
  const names = new Set<string>();
  let page: unknown = null;
  let cursor: string | null = null;
  do {
    const read = await session.sync!({ cursor: from, page }, new AbortController().signal);
    assert.ok(read.kind === 'done', JSON.stringify(read));
    for (const { name } of read.value.customers) names.add(name);
    if (read.value.cursor !== null && read.value.cursor > (cursor ?? '')) ({ cursor } = read.value);
    ({ page } = read.value);
    between();
  } while (page !== null);
  return { names, cursor };
}

for (const [name, { settings, answer }] of Object.entries(SYSTEMS))
  test(`connectors - ${name}: rows that leave a page that was read make no other one vanish, and a change since is read next`, async (t) => {
    const rows = Array.from({ length: ROWS }, (_, n) => rowOf(n + 1));
    const text = await fs.readFile(path.join(REPOSITORY, 'connectors', `${name}.yaml`), 'utf8');
    const system = await startSystem(t, (asked) => ({ json: answer(rows, asked) }));
    const { session } = openForTest(t, text, { address: system.url, ...settings });
    const gone = new Set<unknown>();
    let change: () => void = () => {
      // Changed after its page was read, before the last row, which a later page has.
      rows[50] = { ...rows[50]!, full_name: 'Changed', modified: '2026-11-20 09:00:00.000000' };
      rows[ROWS - 1] = { ...rows[ROWS - 1]!, modified: '2026-11-20 09:30:00.000000' };
      change = () => undefined;
    };
    const first = await readAll(session, null, () => {
      change();
      gone.add(rows.shift()!['name']);
    });
    const missed = rows.map((row) => row['name'] as string).filter((one) => !first.names.has(one));
    assert.deepEqual(missed, []);
    assert.ok(gone.size >= 3);
    if (first.cursor === null) return;
    assert.equal(first.cursor, '2026-11-20 09:30:00.000000');
    const next = await readAll(session, first.cursor, () => undefined);
    assert.ok(next.names.has('Changed'));
  });

test('connectors - users on several pages are all listed, also when others leave a page that was read', async (t) => {
  const espo = {
    settings: { key: 'secret' },
    answer: (rows: readonly Row[], asked: AskedOfSystem): unknown =>
      espocrm(
        rows.map(({ id, name, email }) => ({
          id: String(id).padStart(17, '0'),
          name: name!,
          userName: name!,
          emailAddress: email!,
        })),
        asked,
      ),
  };
  for (const [name, { settings, answer }] of Object.entries({ ...SYSTEMS, espocrm: espo })) {
    const rows = Array.from({ length: ROWS }, (_, n) => ({
      ...rowOf(n + 1),
      enabled: 1,
      user_type: 'System User',
      share: false as const,
      email: `${n + 1}@example.com`,
    }));
    const text = await fs.readFile(path.join(REPOSITORY, 'connectors', `${name}.yaml`), 'utf8');
    const gone = new Set<unknown>();
    const system = await startSystem(t, (asked) => {
      const json = answer(rows, asked);
      gone.add(rows.shift()!['email']);
      return { json };
    });
    const { session } = openForTest(t, text, { address: system.url, ...settings });
    const users = await session.users!(new AbortController().signal);
    assert.ok(users.kind === 'done', JSON.stringify(users));
    const listed = new Set<unknown>(users.value.map(({ email }) => email));
    assert.ok(rows.length > 0 && gone.size > 1);
    assert.deepEqual(
      rows.filter(({ email }) => !listed.has(email)),
      [],
      name,
    );
  }
});
