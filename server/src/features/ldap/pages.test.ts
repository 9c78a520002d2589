/** Limits of a search that is answered in pages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'ldapts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import { freePort } from '../../../test/support/ports.ts';
import { PATIENCE_MS } from '../../../test/support/until.ts';
import type { Listed } from './entries.ts';
import { LdapServer } from './server.ts';

const BASE = 'ou=customers,dc=phonebook';
const customer = (n: number): Listed => ({
  id: String(n),
  colleague: false,
  name: `Customer ${n}`,
  person: false,
  company: null,
  numbers: [],
  emails: [],
});

test('LDAP - the size limit of the client holds for all pages of a search together', async (t) => {
  const port = await freePort();
  const all = Array.from({ length: 9 }, (_, n) => customer(n));
  const server = new LdapServer({
    host: '127.0.0.1',
    port: () => port,
    plain: () => true,
    certificate: () => Promise.resolve(null),
    knows: () => Promise.resolve(true),
    source: { colleagues: () => [], customers: () => Promise.resolve({ rows: all, next: null }) },
    clock: createVirtualClock(),
    log: silent,
  });
  await server.follow();
  t.after(() => server.close());
  const client = new Client({
    url: `ldap://127.0.0.1:${port}`,
    timeout: PATIENCE_MS,
    connectTimeout: PATIENCE_MS,
  });
  t.after(() => client.unbind().catch(() => undefined));
  await client.bind('cn=phone,dc=phonebook', 'token');
  /** Number of entries on each page. */
  const pages = async (sizeLimit: number, pageSize: number): Promise<number[]> => {
    const sizes: number[] = [];
    for await (const { searchEntries } of client.searchPaginated(BASE, {
      scope: 'sub',
      sizeLimit,
      paged: { pageSize },
    }))
      sizes.push(searchEntries.length);
    return sizes;
  };
  assert.deepEqual(await pages(0, 4), [4, 4, 1]);
  assert.deepEqual(await pages(5, 2), [2, 2, 1]);
  assert.deepEqual(await pages(4, 2), [2, 2]);
  assert.deepEqual(await pages(9, 4), [4, 4, 1]);
  assert.deepEqual(await pages(20, 4), [4, 4, 1]);
  assert.deepEqual(await pages(3, 3), [3], 'there is no second page');
  assert.deepEqual(await pages(3, 100), [3]);
  assert.deepEqual(await pages(0, 100), [9], 'the next search begins anew');
});
