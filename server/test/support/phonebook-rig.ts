import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { CustomerReply, CustomersPage, LookupReply } from '@offhook/contract/phonebook.ts';
import type { Customer } from '@offhook/contract/phonebook.ts';
import { createVirtualClock } from '../../src/adapters/memory/virtual-clock.ts';
import { silent } from '../../src/core/log.ts';
import { createAudit } from '../../src/features/audit/service.ts';
import { phonebookOperations } from '../../src/features/phonebook/operations.ts';
import { createPhonebook } from '../../src/features/phonebook/service.ts';
import type { Phonebook } from '../../src/features/phonebook/service.ts';
import { addOperations } from '../../src/http/operations.ts';
import { temporaryStore } from '../conformance/store-temp.ts';
import { directoryFixture } from './directory-fixture.ts';
import { authenticatorWithKeys, hostFixture, jsonCaller } from './host-fixture.ts';

export const ANNA = {
  name: 'Anna Müller',
  company: 'Acme',
  numbers: [{ number: '030 901820', label: 'office' }],
};
/** API keys as desk phones name them in a path. */
export const PHONE_KEY = `ohk_${'p'.repeat(43)}`;
export const OTHER_KEY = `ohk_${'o'.repeat(43)}`;
const KEYS = {
  [PHONE_KEY]: { scopes: ['phonebook:phones'] },
  [OTHER_KEY]: { scopes: ['phonebook:read'] },
  reads: { scopes: ['phonebook:read'] },
  writes: { scopes: ['phonebook:read', 'phonebook:write'] },
  limited: { scopes: ['phonebook:read', 'phonebook:write'], extensions: ['1001'] },
} as const;

interface Opened {
  readonly temp: Awaited<ReturnType<typeof temporaryStore>>;
  readonly clock: ReturnType<typeof createVirtualClock>;
  readonly audit: Awaited<ReturnType<typeof createAudit>>;
  readonly phonebook: Phonebook;
}
/** The phonebook behind its operations and those of `more`, with the events that it published. */
export async function phonebookRig(
  t: TestContext,
  more: (parts: Opened) => Promise<Parameters<typeof addOperations>[1][number]> | null = () => null,
) {
  const temp = await temporaryStore();
  const clock = createVirtualClock();
  const directory = directoryFixture();
  const audit = await createAudit(temp.store, clock, silent);
  const events: DomainEvent[] = [];
  const publish = (some: readonly DomainEvent[]) => void events.push(...some);
  const open = () =>
    createPhonebook({ store: temp.store, clock, directory, audit, log: silent, publish, country: 'DE' });
  const phonebook = await open();
  const authenticator = authenticatorWithKeys(KEYS);
  const host = await hostFixture({ authenticator });
  const others = await more({ temp, clock, audit, phonebook });
  addOperations(host.app, [
    phonebookOperations(phonebook, host.app, authenticator),
    ...(others === null ? [] : [others]),
  ]);
  await host.app.ready();
  t.after(async () => {
    await host.close();
    await audit.close();
    await temp[Symbol.asyncDispose]();
  });
  const call = jsonCaller(host, '/api/v1/phonebook/');
  const create = async (fields: object = {}, token?: string): Promise<Customer> => {
    const reply = await call('POST', 'customers', { ...ANNA, ...fields }, token);
    assert.equal(reply.status, 201, JSON.stringify(reply.json));
    return CustomerReply.parse(reply.json).customer;
  };
  const page = async (query = '', token?: string) =>
    CustomersPage.parse((await call('GET', `customers${query}`, undefined, token)).json);
  const names = async (query = '', token?: string) =>
    (await page(query, token)).customers.map(({ name }) => name);
  const lookup = async (number: string, token?: string) => {
    const reply = await call('GET', `lookup?number=${encodeURIComponent(number)}`, undefined, token);
    return LookupReply.parse(reply.json).customers.map(({ name }) => name);
  };
  return { temp, events, host, clock, directory, audit, phonebook, open, call, create, page, names, lookup };
}
