import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { z } from 'zod';
import type { NewPhonebookSource, PhonebookSource } from '@offhook/contract/phonebook-sources.ts';
import { PhonebookSourceReply, PhonebookSources } from '@offhook/contract/phonebook-sources.ts';
import { silent } from '../../src/core/log.ts';
import { phonebookSourceOperations } from '../../src/features/phonebook/sync/operations.ts';
import { createPhonebookSources } from '../../src/features/phonebook/sync/service.ts';
import { createGuard } from '../../src/outbound/address-guard.ts';
import { phonebookRig } from './phonebook-rig.ts';
import { until } from './until.ts';

/** The phonebook with sources, which may be on the loopback address. */
export async function phonebookSourcesRig(t: TestContext) {
  let sources!: Awaited<ReturnType<typeof createPhonebookSources>>;
  const rig = await phonebookRig(t, async ({ phonebook, temp, clock, audit }) => {
    const { store } = temp;
    const guard = createGuard(['127.0.0.1']);
    sources = await createPhonebookSources({
      store,
      clock,
      audit,
      log: silent,
      customers: phonebook.sources,
      guard,
    });
    return phonebookSourceOperations(sources);
  });
  await sources.begin();
  t.after(() => sources.close());
  const call = (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object) =>
    rig.call(method, path, body, 'token-admin');
  const one = async (): Promise<PhonebookSource> =>
    PhonebookSources.parse((await call('GET', 'sources')).json).sources[0]!;
  return {
    ...rig,
    call,
    one,
    sources,
    async follow(config: z.input<typeof NewPhonebookSource>): Promise<PhonebookSource> {
      const reply = await call('POST', 'sources', config);
      assert.equal(reply.status, 201, JSON.stringify(reply.json));
      return PhonebookSourceReply.parse(reply.json).source;
    },
    /** Reads the first source anew and waits for the end: its words where it did not reach it. */
    async sync(): Promise<string | null> {
      const idle = () =>
        until('no sync', async () => !(await one()).sync!.running && (await one()).sync!.next_at);
      await idle();
      // Another moment, by which the end of the next sync is known.
      await rig.clock.advance(1_000);
      const before = (await one()).sync!.next_at;
      const { status, json } = await call('POST', 'sources/1/sync');
      assert.equal(status, 202, JSON.stringify(json));
      await until('the end of the sync', async () => {
        const { running, next_at } = (await one()).sync!;
        return !running && next_at !== before;
      });
      return (await one()).sync!.words;
    },
  };
}
