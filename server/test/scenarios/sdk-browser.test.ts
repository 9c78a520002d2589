import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type * as Sdk from '@offhook/client';
import { REPOSITORY } from '../support/sources.ts';
import { useBrowser, useSite } from '../support/use-site.ts';

describe('sdk in a browser', () => {
  /** Serves an empty page, and the client's modules without their types. */
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const name = path.basename(request.url ?? '');
    asked.push(name);
    if (!/^[a-z-]+\.ts$/.test(name)) return response.end('<!doctype html>');
    return void readFile(path.join(REPOSITORY, 'client', name), 'utf8').then((source) =>
      response.setHeader('content-type', 'text/javascript').end(stripTypeScriptTypes(source)),
    );
  });
  const origin = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  before(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const browser = useBrowser();
  const site = useSite(() => ({ env: { OFFHOOK_CORS_ORIGINS: origin() } }));

  test('sdk - the module runs in Chromium without types: signs in, keeps a store, gets an event, sends a command', async () => {
    const page = await browser().newPage();
    const own = (await site().credentials()).find((c) => c.extension === '1003');
    assert.ok(own);
    const { username, password } = own;
    await page.goto(origin());
    const seen = await page.evaluate(
      async ({ base, module, ...who }) => {
        const { createClient } = (await import(module)) as typeof Sdk;
        const offhook = createClient({ base });
        const { extension } = (await offhook.login(who)).user;
        const people = offhook.store('presence');
        await people.ready;
        const reasons: (string | null)[] = [];
        const stream = offhook.stream({ topics: ['agents'], snapshot: true });
        for await (const event of stream) {
          if (event.type === 'snapshot') {
            await offhook.command('agents.pause', { extension, reason: 'lunch' });
          } else if (event.type === 'agent.not_ready') {
            reasons.push(event.data.agent.readiness.reason);
            break;
          }
        }
        people.close();
        return { people: people.size, reasons, states: [stream.state, people.state] };
      },
      { base: site().base, module: `${origin()}/client.ts`, username, password },
    );
    assert.ok(seen.people > 5);
    assert.deepEqual(seen.reasons, ['lunch']);
    assert.deepEqual(seen.states, ['closed', 'closed']);
    const modules = asked.filter((name) => name.endsWith('.ts')).toSorted();
    assert.ok(modules.includes('stream.ts'));
    assert.equal(modules.length, new Set(modules).size, 'nothing but the modules of the client, each once');
    await page.close();
  });
});
