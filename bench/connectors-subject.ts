/**
 * Connectors beside the same work written by hand: `connectors-subject.ts expressions|entries|sync|memory <size>`.
 * Prints its figures as one line of JSON.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { DatabaseSync } from 'node:sqlite';
import { openSqliteStore } from '../server/src/adapters/sqlite/store.ts';
import { systemClock } from '../server/src/core/clock.ts';
import { silent } from '../server/src/core/log.ts';
import { createAudit } from '../server/src/features/audit/service.ts';
import { createConnectors } from '../server/src/features/connectors/feature.ts';
import {
  compileExpression,
  createEnvironments,
} from '../server/src/features/connectors/format/expressions.ts';
import { createPhonebook } from '../server/src/features/phonebook/service.ts';
import { createGuard } from '../server/src/outbound/address-guard.ts';
import { conversationFixture } from '../server/test/support/connectors-rig.ts';
import { CRM_SYNC, crmFile } from '../server/test/support/crm.ts';
import { directoryFixture } from '../server/test/support/directory-fixture.ts';
import { admin } from '../server/test/support/webhooks-rig.ts';

const [part = '', sizeText = ''] = process.argv.slice(2);
const size = Number(sizeText);
const AT_ONCE = 4;
const PAGE = 1_000;
const print = (figures: object): void => void process.stdout.write(`${JSON.stringify(figures)}\n`);
const peak = (): number => process.resourceUsage().maxRSS / 1024;

/** Microseconds of one evaluation, as compiled from a file and as a function written by hand. */
function expressions(): void {
  const environment = createEnvironments([])(['answer', 'row']);
  const row = {
    phone: '+4930901820',
    rev: 7,
    name: 'Anna',
    company: { id: 'c1', open: true },
    tags: ['vip', 'de'],
  };
  type Row = typeof row;
  const pairs: readonly (readonly [string, (given: Row) => unknown])[] = [
    ['row.phone', (r) => r.phone],
    ['row.company.open ? row.company.id : row.name', (r) => (r.company.open ? r.company.id : r.name)],
    ['row.tags.exists(t, t == "vip")', (r) => r.tags.some((t) => t === 'vip')],
  ];
  const compiled = pairs.map(([text]) => {
    const one = compileExpression(text, environment);
    if (typeof one !== 'function') throw new Error(`${text}: ${one.reason}`);
    return one;
  });
  const scope = { row };
  const timed = (run: (i: number) => unknown): number => {
    let kept: unknown;
    for (let i = 0; i < size / 10; i += 1) kept = run(i % 3);
    const began = performance.now();
    for (let i = 0; i < size; i += 1) kept = run(i % 3);
    if (kept === undefined) throw new Error('an expression returned no value');
    return ((performance.now() - began) * 1_000) / size;
  };
  print({ ours: timed((i) => compiled[i]!(scope)), bare: timed((i) => pairs[i]![1](row)) });
}

/** A system that takes entries and lists `size` customers. */
async function startSystem() {
  let entries = 0;
  const done = Promise.withResolvers<void>();
  const server = http.createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://system');
    const send = (value: unknown): void =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    request.resume();
    request.once('end', () => {
      if (url.pathname === '/changes') return send(customersOf(Number(url.searchParams.get('page') ?? 0)));
      if (url.pathname === '/users') return send([]);
      if (url.pathname === '/customers') return send([{ id: 'c1', name: 'Anna' }]);
      if (url.pathname !== '/entries') return send({ ok: true });
      entries += 1;
      send({ id: `e${entries}` });
      if (entries === size) done.resolve();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Resolves once `size` entries have arrived. */
    full: done.promise,
    close: () => server.close(),
  };
}
function customersOf(page: number) {
  const first = page * PAGE;
  const items = Array.from({ length: Math.min(PAGE, size - first) }, (_, i) => ({
    id: `c${first + i}`,
    name: `Person ${first + i}`,
    phone: `+4930${String(first + i).padStart(8, '0')}`,
    rev: '1',
    gone: false,
  }));
  return { items, ...(first + PAGE < size && { next: page + 1 }) };
}

async function openSite(folder: string, conversations: number) {
  const store = await openSqliteStore(path.join(folder, 'site.sqlite'));
  const directory = directoryFixture();
  const audit = await createAudit(store, systemClock, silent);
  const phonebook = await createPhonebook({
    store,
    clock: systemClock,
    directory,
    audit,
    log: silent,
    publish: () => undefined,
    country: 'DE',
  });
  const made = Array.from({ length: conversations }, (_, i) =>
    conversationFixture(`k${i}`, { change: i + 1 }),
  );
  const PAGE_OF_FEED = 200;
  const connectors = await createConnectors({
    store,
    clock: systemClock,
    audit,
    audio: { open: () => Promise.resolve(null) },
    log: silent,
    directory,
    feed: {
      async changes(cursor) {
        const at = Number(cursor ?? 0);
        const page = made.slice(at, at + PAGE_OF_FEED);
        return {
          changes: page.map((conversation) => ({
            change: conversation.change,
            id: conversation.id,
            merged_into: null,
            conversation,
          })),
          cursor: String(at + page.length),
          more: at + page.length < made.length,
        };
      },
      one: async (id) => made[Number(id.slice(1))] ?? null,
    },
    customers: phonebook.sources,
    verbs: {
      call: () => Promise.resolve(),
      note: () => Promise.resolve(),
      reject: () => Promise.resolve(false),
    },
    guard: createGuard(['127.0.0.1']),
    folders: { release: folder, own: folder },
    publicUrl: '',
    country: 'DE',
  });
  await connectors.begin();
  return { store, connectors };
}
const LIMITS = `limits: { requests: 10000, per_seconds: 1, at_once: ${AT_ONCE} }`;
const fileWith = (more: string): string => `${crmFile('ledger').replace(/limits: .*/, LIMITS)}${more}`;

/**
 * Entries per second through one connector, through a loop of `fetch` with the same requests and `AT_ONCE` of them in
 * parallel, and through such a loop that only creates the entries.
 */
async function entries(folder: string): Promise<void> {
  const system = await startSystem();
  const { store, connectors } = await openSite(folder, size);
  const settings = { address: system.url, token: 'secret' };
  const began = performance.now();
  await connectors.service.create(admin, {
    source: fileWith(''),
    settings,
    enabled: true,
    from: new Date(0).toISOString(),
  });
  await system.full;
  const ours = (size * 1_000) / (performance.now() - began);
  await connectors.close();
  await store.close();
  const bare = async (looksUp: boolean): Promise<number> => {
    let next = 0;
    const headers = { 'content-type': 'application/json', authorization: 'Bearer secret' };
    const loop = async (): Promise<void> => {
      while (next < size) {
        next += 1;
        let customer = 'c1';
        if (looksUp) {
          const found = await fetch(`${system.url}/customers?phone=%2B4930901820`, { headers });
          customer = ((await found.json()) as { id: string }[])[0]!.id;
        }
        const body = JSON.stringify({ call: `k${next}`, customer, text: 'Incoming call, 60 s' });
        await (await fetch(`${system.url}/entries`, { method: 'POST', headers, body })).json();
      }
    };
    const began = performance.now();
    await Promise.all(Array.from({ length: AT_ONCE }, loop));
    return (size * 1_000) / (performance.now() - began);
  };
  print({ ours, same: await bare(true), creates: await bare(false) });
  system.close();
}

const POLL_MS = 20;
/** Polls between two collections of a `memory` run. */
const POLLS = 10;
/** MB in use after a collection; without it the figure would depend on when V8 ran its last one. */
function kept(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}
/**
 * Seconds and MB of a sync of `size` customers, and seconds of a loop that fetches the same pages into one table. With
 * `collects` it prints only the peak of memory in use during the sync.
 */
async function sync(folder: string, collects: boolean): Promise<void> {
  const system = await startSystem();
  const { store, connectors } = await openSite(folder, 0);
  const settings = { address: system.url, token: 'secret' };
  const before = peak();
  const atFirst = collects ? kept() : 0;
  let most = atFirst;
  let polls = 0;
  const held = monitorEventLoopDelay({ resolution: 1 });
  const cpu = process.cpuUsage();
  const began = performance.now();
  held.enable();
  await connectors.service.create(admin, { source: fileWith(CRM_SYNC), settings, enabled: true });
  for (;;) {
    const [{ sync: state } = { sync: null }] = (await connectors.service.list()) as readonly {
      sync: { customers: number | null } | null;
    }[];
    if (state !== null && (state.customers ?? 0) >= size) break;
    if (collects && (polls += 1) % POLLS === 0) most = Math.max(most, kept());
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const seconds = (performance.now() - began) / 1_000;
  const { user, system: kernel } = process.cpuUsage(cpu);
  const held_ms = held.percentile(99) / 1e6;
  const mb = peak() - before;
  await connectors.close();
  await store.close();
  if (collects) {
    system.close();
    return print({ most: most - atFirst });
  }
  const db = new DatabaseSync(path.join(folder, 'bare.sqlite'));
  db.exec(
    'pragma journal_mode=wal; create table customers (id text primary key, name text, phone text); create index phones on customers (phone)',
  );
  const insert = db.prepare('insert into customers values (?, ?, ?)');
  const bareBegan = performance.now();
  for (let page: number | undefined = 0; page !== undefined;) {
    const reply = await fetch(`${system.url}/changes?page=${page}`);
    const answer = (await reply.json()) as ReturnType<typeof customersOf>;
    db.exec('begin');
    for (const { id, name, phone } of answer.items) insert.run(id, name, phone);
    db.exec('commit');
    page = answer.next;
  }
  print({ seconds, cpu: (user + kernel) / 1e6, held_ms, mb, bare: (performance.now() - bareBegan) / 1_000 });
  db.close();
  system.close();
}

const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-connectors-'));
try {
  if (part === 'expressions') expressions();
  else if (part === 'entries') await entries(folder);
  else await sync(folder, part === 'memory');
} finally {
  await rm(folder, { recursive: true, force: true });
}
process.exit(0);
