/**
 * Senders of webhooks: `subject.ts <ours|fetch|hello> <folder> <port of the sink> <webhooks>`. `ours` is the feature on
 * its stores; `fetch` the usual way, a loop for each target without stored state; `hello` the limit, the same bytes over
 * kept connections of `node:http`, signed beforehand. Each sends a target's events in order.
 */
import { createHmac } from 'node:crypto';
import http from 'node:http';
import path from 'node:path';
import { nodeId } from '@offhook/contract/ids.ts';
import { openSqliteJournal } from '../../server/src/adapters/sqlite/journal.ts';
import { openSqliteStore } from '../../server/src/adapters/sqlite/store.ts';
import { systemClock as clock } from '../../server/src/core/clock.ts';
import { silent as log } from '../../server/src/core/log.ts';
import { createWebhooks } from '../../server/src/features/webhooks/feature.ts';
import type { Webhooks } from '../../server/src/features/webhooks/feature.ts';
import { createAudit } from '../../server/src/features/audit/service.ts';
import { openJournal } from '../../server/src/journal/journal.ts';
import type { Caller } from '../../server/src/ports/http.ts';
import { presenceEvent } from '../stream/events.ts';

export type TellQuestion =
  | { readonly ask: 'tell'; readonly events: number }
  /** Adds or removes a target that accepts requests and never answers. */
  | { readonly ask: 'dead'; readonly dead: boolean };
const [kind = '', folder = '', port = '', hooks = '1'] = process.argv.slice(2);
const urlOf = (name: string | number): string => `http://127.0.0.1:${port}/${name}`;
const node = nodeId('ast1');
const journal = openJournal({ store: openSqliteJournal(path.join(folder, `${kind}-journal.db`)), node });
let published = 0;
const make = (count: number) => {
  for (let done = 0; done < count; done += 500) {
    journal.append(Array.from({ length: Math.min(500, count - done) }, () => presenceEvent(published++)));
  }
};
const admin: Caller = {
  session_id: 1,
  person_id: 1,
  extension: '1000',
  username: 'admin',
  level: 'admin',
  expires_at: Infinity,
  cookie: false,
  key: null,
};

async function startOurs(): Promise<{ secrets: Record<string, string>; webhooks: Webhooks }> {
  const store = await openSqliteStore(path.join(folder, 'webhooks.db'));
  const audit = await createAudit(store, clock, log);
  const webhooks = await createWebhooks({
    store,
    journal,
    clock,
    audit,
    log,
    owner: () => OWNER,
    allow: ['127.0.0.1'],
    version: '0.0.0',
    source: '/offhook/ast1',
  });
  const secrets: Record<string, string> = {};
  for (let n = 0; n < Number(hooks); n++) secrets[`/${n}`] = (await subscribe(webhooks, n)).secret;
  return { secrets, webhooks };
}
const OWNER = { principal: admin, queues: [] };
const subscribe = (webhooks: Webhooks, name: string | number) =>
  webhooks.service.create(
    { caller: admin, ip: null },
    { url: urlOf(name), topics: ['presence'], types: null, enabled: true, description: '' },
  );

/** The peers' way: each target independently, from the journal's newest position on. */
function startPeer(post: (url: string, headers: Record<string, string>, body: string) => Promise<void>) {
  const secret = Buffer.alloc(32, 7);
  const headersOf = (id: string, body: string): Record<string, string> => {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signed = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
    return {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signed}`,
    };
  };
  const ready = new Map<number, Record<string, string>>();
  const follow = async (name: string | number): Promise<void> => {
    for await (const rows of journal.follow(journal.head, new AbortController().signal)) {
      for (const { seq, json } of rows) {
        const id = `${journal.epoch}:${seq}`;
        let headers = kind === 'hello' ? ready.get(seq) : undefined;
        if (headers === undefined) ready.set(seq, (headers = headersOf(id, json)));
        await post(urlOf(name), headers, json);
      }
    }
  };
  for (let n = 0; n < Number(hooks); n++) void follow(n);
  return { secrets: { '/0': `whsec_${secret.toString('base64')}` } };
}
const agent = new http.Agent({ keepAlive: true });
const ways: Readonly<
  Record<string, () => Promise<{ secrets: Record<string, string>; webhooks?: Webhooks }>>
> = {
  ours: startOurs,
  fetch: async () =>
    startPeer(async (url, headers, body) => {
      const answer = await fetch(url, { method: 'POST', headers, body });
      await answer.arrayBuffer();
    }),
  hello: async () =>
    startPeer(
      (url, headers, body) =>
        new Promise((resolve, reject) => {
          const request = http.request(url, { method: 'POST', agent, headers }, (response) => {
            response.resume().on('end', resolve);
          });
          request.on('error', reject);
          request.end(body);
        }),
    ),
};
const started = await ways[kind]!();
let dead: number | null = null;
process.on('message', (question: TellQuestion) => {
  void (async () => {
    if (question.ask === 'dead') {
      const { service } = started.webhooks!;
      if (dead !== null) await service.remove({ caller: admin, ip: null }, dead);
      dead = question.dead ? (await subscribe(started.webhooks!, 'dead')).webhook.id : null;
    }
    const at = performance.timeOrigin + performance.now();
    if (question.ask === 'tell') make(question.events);
    process.send?.({ at });
  })();
});
console.log(JSON.stringify({ secrets: started.secrets }));
process.on('SIGTERM', () => process.exit());
