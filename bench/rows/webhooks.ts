/** P18: deliveries of webhooks to targets on this machine. */
import type { ChildProcess } from 'node:child_process';
import {
  GENERATOR_CORE,
  QUICK,
  ROUNDS,
  SERVICE_FLAGS,
  SUBJECT_CORE,
  ask,
  atLeast,
  cpuOf,
  end,
  figure,
  firstLine,
  interleave,
  ratiosOf,
  start,
  temporaryFolder,
} from '../lib.ts';
import type { Row } from '../lib.ts';

const HOOKS = 20;
const EVENTS = QUICK ? 100 : 500;
interface Cost {
  readonly rate: number;
  readonly cpu: number;
}
const KINDS = ['ours', 'fetch', 'hello'] as const;
const BESIDE = 'ours beside a dead one';

export async function p18(): Promise<Row> {
  await using stack = new AsyncDisposableStack();
  const running = new Map<string, { teller: ChildProcess; sink: ChildProcess }>();
  for (const kind of KINDS) {
    const sink = start('webhooks/sink.ts', [], GENERATOR_CORE);
    stack.defer(() => end(sink));
    const { port } = await firstLine<{ port: number }>(sink);
    const own = temporaryFolder();
    stack.defer(() => own[Symbol.dispose]());
    const flags = kind === 'ours' ? SERVICE_FLAGS : [];
    const teller = start('webhooks/subject.ts', [kind, own.path, port, HOOKS], SUBJECT_CORE, flags);
    stack.defer(() => end(teller));
    const { secrets } = await firstLine<{ secrets: Record<string, string> }>(teller);
    await ask(sink, { ask: 'expect', count: 0, secrets });
    running.set(kind, { teller, sink });
  }
  const once = async (kind: string): Promise<Cost> => {
    const { teller, sink } = running.get(kind === BESIDE ? 'ours' : kind)!;
    // One process with and without it: the code that V8 compiled in another one may be slower by more than the gate allows.
    if (kind === 'ours' || kind === BESIDE) await ask(teller, { ask: 'dead', dead: kind === BESIDE });
    const count = EVENTS * HOOKS;
    await ask(sink, { ask: 'expect', count });
    const before = cpuOf(teller.pid!);
    const from = await ask<{ at: number }>(teller, { ask: 'tell', events: EVENTS });
    const to = await ask<{ at: number; got: number; wrong: number }>(sink, { ask: 'result' });
    const cpu = (cpuOf(teller.pid!) - before) / count;
    if (to.got !== count || to.wrong > 0) throw new Error(`${kind}: ${JSON.stringify(to)}`);
    return { rate: (count / (to.at - from.at)) * 1000, cpu };
  };
  const ways = [...KINDS, BESIDE];
  for (const way of ways) await once(way);
  const costs = await interleave(ways, ROUNDS, once);
  const rate = (kind: string): number[] => costs.get(kind)!.map((c) => c.rate);
  const cpu = (kind: string): number[] => costs.get(kind)!.map((c) => c.cpu);
  const beside = ratiosOf(cpu('ours'), cpu(BESIDE));
  return {
    id: 'P18',
    title: `Webhooks to ${HOOKS} targets on this machine, each in order and one at a time`,
    figures: [
      figure('Offhook', 'deliveries/s', 'ours', rate('ours')),
      figure('Offhook', 'µs CPU/delivery', 'ours', cpu('ours')),
      figure('Offhook, one target more that never answers', 'deliveries/s', 'ours', rate(BESIDE)),
      figure('a loop of fetch for each target, nothing written down', 'deliveries/s', 'peer', rate('fetch')),
      figure(
        'a loop of fetch for each target, nothing written down',
        'µs CPU/delivery',
        'peer',
        cpu('fetch'),
      ),
      figure('node:http, the same bytes signed beforehand', 'deliveries/s', 'limit', rate('hello')),
      figure('node:http, the same bytes signed beforehand', 'µs CPU/delivery', 'limit', cpu('hello')),
      figure('share of the speed of node:http', '×', 'ours', ratiosOf(cpu('hello'), cpu('ours')), 'lower'),
    ],
    gates: [
      atLeast('deliveries a second', 2_000, rate('ours')),
      atLeast('speed of the others beside a dead target, times', 0.95, beside, '×'),
    ],
    notes: [
      'Every body is signed, how far each target is and a line for each delivery are in the database; the sink checks every signature of ours, and the order.',
    ],
  };
}
