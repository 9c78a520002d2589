/** P34: from the death of the leading node to a call at the other one, beside a planned switch. */
import { setTimeout as wait } from 'node:timers/promises';
import { openPostgresSiteNodes } from '../../server/src/adapters/postgres/site-nodes.ts';
import { switchTo } from '../../server/src/boot/nodes.ts';
import { systemClock } from '../../server/src/core/clock.ts';
import { canLead } from '../../server/src/features/nodes/state.ts';
import { startNodes } from '../../server/test/support/nodes.ts';
import type { TestNode } from '../../server/test/support/nodes.ts';
import { startPostgres } from '../../server/test/support/postgres.ts';
import { ALL_CORES, QUICK, atMost, beyond, figure, interleave, moveTo, ratiosOf } from '../lib.ts';
import type { Row } from '../lib.ts';

const PAIRS = QUICK ? 1 : 5;
const ASK_MS = 20;
const [CALLER, CALLED] = ['1007', '1008'];
/** Registers two phones at the node and resolves after an answered call between them. */
async function callAt(node: TestNode): Promise<void> {
  await using one = await node.phone(CALLER);
  await using two = await node.phone(CALLED);
  const outgoing = await one.invite(two.extension);
  const incoming = await two.incoming(outgoing);
  await incoming.answer();
  await outgoing.answered();
  await outgoing.hangup();
}

interface Outage {
  /** Milliseconds until a call was answered, and those that the lease still had at the start. */
  readonly ms: number;
  readonly leased: number;
}
export async function p34(): Promise<Row> {
  // The engines and services of both nodes share all cores: on two machines, only one of them does the work of a
  // takeover.
  moveTo(ALL_CORES, process.pid);
  await using server = await startPostgres({ durable: true });
  const url = await server.createDatabase();
  await using nodes = await startNodes({ a: url, b: url });
  const known = openPostgresSiteNodes(url);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => known.close());
  let [leading, standing] = [nodes.a, nodes.b];
  const ready = async (name: string): Promise<void> => {
    while (!(await known.list()).some((node) => node.name === name && canLead(node))) await wait(ASK_MS);
  };
  const ways: Readonly<Record<string, () => Promise<Outage>>> = {
    async killed() {
      const text =
        'select extract(epoch from until - clock_timestamp())::float8 * 1000 as left from offhook_log';
      const leased = Number((await server.run(url, text))[0]?.['left']);
      const engine = leading.site.enginePid()!;
      const began = performance.now();
      const dead = leading.site.kill('SIGKILL');
      process.kill(engine, 'SIGKILL');
      await dead;
      await standing.leads();
      await callAt(standing);
      const ms = performance.now() - began;
      await leading.site.start('answers');
      return { ms, leased };
    },
    async switched() {
      const began = performance.now();
      const switched = switchTo(known, standing.name, systemClock);
      await standing.leads();
      await callAt(standing);
      const ms = performance.now() - began;
      await switched;
      return { ms, leased: 0 };
    },
  };
  async function outage(way: string): Promise<Outage> {
    await ready(standing.name);
    const found = await ways[way]!();
    [leading, standing] = [standing, leading];
    await standing.standsBy();
    return found;
  }
  await outage('switched');
  const found = await interleave(Object.keys(ways), PAIRS, outage);
  const seconds = (way: string): number[] => found.get(way)!.map(({ ms }) => ms / 1000);
  const leased = found.get('killed')!.map((one) => one.leased / 1000);
  const after = beyond(seconds('killed'), leased);
  return {
    id: 'P34',
    title: 'The leading node and its engine are killed, until a call is answered at the other one',
    figures: [
      figure('killed, p50', 's', 'ours', seconds('killed')),
      figure('killed, longest', 's', 'ours', [Math.max(...seconds('killed'))]),
      figure('of it the rest of the lease', 's', 'limit', leased),
      figure('after the end of the lease', 's', 'ours', after),
      figure('a planned switch, p50', 's', 'peer', seconds('switched')),
      figure('a planned switch, longest', 's', 'peer', [Math.max(...seconds('switched'))]),
    ],
    gates: [
      atMost('killed, longest', 15, Math.max(...seconds('killed')), ' s'),
      atMost(
        'after the end of the lease, times a planned switch',
        2,
        ratiosOf(after, seconds('switched')),
        '×',
      ),
    ],
    notes: [
      `${PAIRS} pairs. Two phones register at the other node once it is ready and call each other; the time includes both registrations.`,
    ],
  };
}
