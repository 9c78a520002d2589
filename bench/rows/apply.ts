/** P20: a changed configuration proven, written, reloaded by the running engine and read back, compared with the usual way. */
import fs from 'node:fs/promises';
import path from 'node:path';
import { startExchange } from '../exchange.ts';
import type { Exchange } from '../exchange.ts';
import { PASSWORD } from '../site-data.ts';
import {
  QUICK,
  ROUNDS,
  atMost,
  count,
  digits,
  figure,
  growthOf,
  interleave,
  ratiosOf,
  series,
} from '../lib.ts';
import type { Row } from '../lib.ts';
import { signIn } from '../http-client.ts';
import { rawManager } from '../raw-manager.ts';

const POLL_MS = 10;
const LATE_MS = 120_000;
const REST = 3;
/** 10,000 endpoints: each extension has three. */
const SIZES = QUICK ? [100, 1_000] : [100, 1_000, 3_334];
interface Applied {
  readonly state: string;
  readonly total: number;
  readonly touched: number;
  readonly steps: ReadonlyMap<string, number>;
  readonly reloaded: readonly string[];
}
interface Apply {
  readonly id: number;
  readonly state: string;
  readonly detail: string | null;
  readonly problems: readonly unknown[];
  readonly steps: readonly { readonly step: string; readonly ms: number }[];
  readonly engine_touched_ms: number;
  readonly reloaded: readonly string[];
  readonly finished_at: string | null;
}

/** A signed-in administrator of a site. */
async function administrator(site: Pick<Exchange, 'base'>) {
  const token = await signIn(site.base, '1001', PASSWORD);
  const ask = async <T>(to: string, body?: unknown): Promise<T> => {
    const reply = await fetch(`${site.base}${to}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(LATE_MS),
    });
    const answer = (await reply.json()) as T;
    if (!reply.ok) throw new Error(`${to}: ${reply.status} ${JSON.stringify(answer)}`);
    return answer;
  };
  async function apply(): Promise<Applied> {
    const began = performance.now();
    let { apply: now } = await ask<{ apply: Apply }>('/api/v1/config/applies', {});
    while (now.finished_at === null) {
      if (performance.now() - began > LATE_MS)
        throw new Error(`an apply is ${now.state} after ${LATE_MS} ms`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      ({ apply: now } = await ask<{ apply: Apply }>(`/api/v1/config/applies/${now.id}`));
    }
    if (now.state !== 'applied')
      throw new Error(`${now.state}: ${now.detail} ${JSON.stringify(now.problems)}`);
    return {
      state: now.state,
      total: performance.now() - began,
      touched: now.engine_touched_ms,
      steps: new Map(now.steps.map(({ step, ms }) => [step, ms])),
      reloaded: now.reloaded,
    };
  }
  return {
    apply,
    add: (changes: readonly object[]) => ask('/api/v1/config/draft/changes', { changes }),
  };
}
const extension = (i: number) => ({
  op: 'create' as const,
  kind: 'extension' as const,
  object: { extension: String(900_000 + i), username: `more${i}`, name: `One more ${i}` },
});

/** Modules that reload the files of a new extension: its mailbox, its phone and its dialplan. */
const OF_EXTENSION: readonly { readonly module: string; readonly isPart: (name: string) => boolean }[] = [
  { module: 'app_voicemail.so', isPart: (name) => name === 'voicemail.conf' },
  { module: 'res_pjsip.so', isPart: (name) => name.startsWith('pjsip') },
  { module: 'pbx_config.so', isPart: (name) => name === 'extensions.conf' },
];
/** Reloads without a check of the result: only the files of an extension, or every file, rewritten, and every module. */
async function regenerate(site: Exchange, what: 'extension' | 'everything'): Promise<number> {
  const etc = path.join(site.instance.folder, 'etc');
  const names = (await fs.readdir(etc)).filter((name) => name.endsWith('.conf'));
  const texts = await Promise.all(names.map((name) => fs.readFile(path.join(etc, name))));
  const { user, secret } = site.instance.ami_actions;
  const manager = await rawManager(site.instance.ami_port, { user, secret }, 'off');
  try {
    const began = performance.now();
    // With another comment, because a file of the same size and time is not reloaded.
    for (const [i, name] of names.entries())
      if (what === 'everything' || OF_EXTENSION.some(({ isPart }) => isPart(name)))
        await fs.writeFile(path.join(etc, name), Buffer.concat([texts[i]!, Buffer.from(`; ${began}\n`)]));
    const written = performance.now();
    if (what === 'extension') {
      for (const { module } of OF_EXTENSION) await manager.action('Reload', { Module: module });
      return performance.now() - written;
    }
    await manager.action('Reload');
    // A reload of everything is only started when its reply comes; the next action waits for its end.
    await manager.action('Reload', { Module: 'app_queue.so' });
    return performance.now() - began;
  } finally {
    manager.close();
    for (const [i, name] of names.entries()) await fs.writeFile(path.join(etc, name), texts[i]!);
  }
}

export async function p20(): Promise<Row> {
  const table: {
    readonly size: number;
    readonly all: readonly Applied[];
    readonly render: readonly number[];
  }[] = [];
  let limit: number[] = [];
  let peer: number[] = [];
  let ours: number[] = [];
  let nothing: readonly string[] = ['not measured'];
  for (const size of SIZES) {
    await using site = await startExchange(
      { extensions: size, queues: Math.ceil(size / 25), agentsPerQueue: 10 },
      true,
    );
    const admin = await administrator(site);
    let n = 0;
    const one = async (): Promise<Applied> => {
      await admin.add([extension((n += 1))]);
      return await admin.apply();
    };
    await one();
    const biggest = size === SIZES.at(-1);
    const all: Applied[] = [];
    const others = new Map<string, number[]>();
    const rounds = await interleave(
      biggest ? ['ours', 'extension', 'everything'] : ['ours'],
      ROUNDS,
      async (who) => {
        if (who === 'ours') {
          const applied = await one();
          all.push(applied);
          return applied.total;
        }
        const ms = await regenerate(site, who as 'extension' | 'everything');
        others.set(who, [...(others.get(who) ?? []), ms]);
        return ms;
      },
    );
    if (biggest) {
      ours = rounds.get('ours') ?? [];
      limit = others.get('extension') ?? [];
      peer = others.get('everything') ?? [];
      nothing = (await admin.apply()).reloaded;
    }
    table.push({ size, all, render: all.map((a) => a.steps.get('planning') ?? 0) });
  }
  const big = QUICK ? { extensions: 500, queues: 20 } : { extensions: 5_000, queues: 200 };
  const whole: number[] = [];
  {
    await using site = await startExchange({ extensions: 10, queues: 1, agentsPerQueue: 1 }, true);
    const admin = await administrator(site);
    const members = (q: number) =>
      Array.from({ length: 10 }, (_, i) => ({
        extension: String(900_000 + ((q * 10 + i) % big.extensions)),
      }));
    await admin.add([
      ...Array.from({ length: big.extensions }, (_, i) => extension(i)),
      ...Array.from({ length: big.queues }, (_, q) => ({
        op: 'create' as const,
        kind: 'queue' as const,
        object: { name: `big${q}`, number: String(8_000 + q), title: `Queue ${q}`, members: members(q) },
      })),
    ]);
    whole.push((await admin.apply()).total);
  }
  const at = (size: number) => table.find((row) => row.size === size)!.all;
  const median = (values: readonly number[]): number => series(values).median;
  const times = ratiosOf(ours, limit);
  const { growth, gate } = growthOf(
    { name: 'an apply over extensions', unit: 'ms', most: 1.1 },
    table.map(({ size, all }) => [size, all.map((a) => a.total)]),
  );
  return {
    id: 'P20',
    title: `One extension more, applied: proven, written, read by the live engine, read back (${count(SIZES.at(-1)! * REST)} endpoints unless said)`,
    figures: [
      figure('Offhook, from the request to the end', 'ms', 'ours', ours),
      figure(
        'of it the live engine is busy',
        'ms',
        'ours',
        at(SIZES.at(-1)!).map((a) => a.touched),
      ),
      figure(
        'the live engine reads all files of phones, mailboxes and dialplan again, nothing is looked at',
        'ms',
        'limit',
        limit,
      ),
      figure('every file written anew and everything read again, nothing is looked at', 'ms', 'peer', peer),
      figure('times the limit', '×', 'ours', times, 'higher'),
      figure(
        'Offhook at 1,000 extensions',
        'ms',
        'ours',
        at(1_000).map((a) => a.total),
      ),
      figure(
        'of it the live engine is busy',
        'ms',
        'ours',
        at(1_000).map((a) => a.touched),
      ),
      figure(`${count(big.extensions)} extensions and ${big.queues} queues at once`, 'ms', 'ours', whole),
    ],
    gates: [
      atMost('times the limit', 1.3, times, '×'),
      atMost('rendered and compared', 300, table.at(-1)!.render, ' ms'),
      atMost('files read again by an apply that changes nothing', 0, nothing.length),
      atMost(
        'one extension more on 1,000',
        3_000,
        at(1_000).map((a) => a.total),
        ' ms',
      ),
      atMost(
        'of it the live engine is busy',
        300,
        at(1_000).map((a) => a.touched),
        ' ms',
      ),
      atMost(`${count(big.extensions)} extensions and ${big.queues} queues`, 15_000, whole, ' ms'),
      gate,
    ],
    growth: [growth],
    notes: [
      ...table.map(
        ({ size, all }) =>
          `${count(size)} extensions: ${digits(median(all.map((a) => a.total)))} ms (${[
            ...all[0]!.steps.keys(),
          ]
            .map((step) => `${step} ${digits(median(all.map((a) => a.steps.get(step) ?? 0)))}`)
            .join(', ')}); the live engine busy for ${digits(median(all.map((a) => a.touched)))} ms.`,
      ),
      'The limit reads what one extension more changes: its mailbox, its phone and its dialplan (ADR 0042). Ours also proves the files on an engine of its own first.',
      'An extension has three endpoints, and a queue for every 25 of them. Both cores are free for service and engines.',
    ],
  };
}
