/** P11: from the request for a pause to the reply after the engine's confirmation. */
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { findLiving } from '../../server/src/adapters/asterisk/process/living.ts';
import { asteriskConf } from '../../server/src/adapters/asterisk/conf/instance.ts';
import type { Instance } from '../../server/src/adapters/asterisk/conf/instance.ts';
import { startExchange } from '../exchange.ts';
import { request, signIn, together } from '../http-client.ts';
import {
  ROUNDS,
  SUBJECT_CORE,
  atMost,
  beyond,
  end,
  figure,
  firstLine,
  interleave,
  quantile,
  quantilesOf,
  ratiosOf,
  start,
  temporaryFolder,
} from '../lib.ts';
import type { Figure, Gate, Row } from '../lib.ts';
import { RECONSTRUCTIONS, TOKEN, reconstruct } from '../reconstruct.ts';
import type { PauseBody } from '../reconstruct.ts';
import type { BarePause } from '../bare-pause.ts';
import { PASSWORD, extensionOf, queueOf } from '../site-data.ts';

/** One pause for each agent in a round, so that no two of one agent can overtake each other. */
const AGENTS = 100;
const QUEUES = 12;

/** Milliseconds of one flushed commit of a few rows on this disk. */
function commits(db: DatabaseSync): number[] {
  const insert = db.prepare('insert into lines (text) values (?)');
  return Array.from({ length: 50 }, () => {
    const from = performance.now();
    db.exec('begin immediate');
    insert.run('x'.repeat(300));
    db.exec('commit');
    return performance.now() - from;
  });
}

/** Names in the tables. */
const WHO = {
  ours: 'Offhook',
  raw: 'bare HTTP service: two connections to the manager, a flushed commit',
  daemons: 'reconstruction of Wazo’s approach',
  cli: 'reconstruction of the AiPBX approach (a process for each request)',
} as const;
type Who = keyof typeof WHO;
const RECONSTRUCTED = ['daemons', 'cli'] as const;
/** Addresses of both reconstructions. */
async function reconstructions(
  instance: Instance,
  agents: readonly string[],
  stack: AsyncDisposableStack,
): Promise<Readonly<Record<(typeof RECONSTRUCTED)[number], string>>> {
  const { ami_port, ami_actions } = instance;
  const living = findLiving(instance);
  if (living === null) throw new Error('the engine has ended');
  const auth = await reconstruct('auth', {}, stack);
  const { user, secret } = ami_actions;
  const amid = await reconstruct('amid', { ami: { port: ami_port, user, secret } }, stack);
  const agentd = await reconstruct('agentd', { auth: auth.port, amid: amid.port, agents }, stack);
  const engine = [...living.command, '-C', asteriskConf(instance)];
  const cli = await reconstruct('cli', { engine }, stack);
  return { daemons: agentd.url, cli: cli.url };
}

/** Address of the bare service. */
async function bare(
  { ami_port: port, ami_actions: actions, ami_events: events }: Instance,
  stack: AsyncDisposableStack,
): Promise<string> {
  const options: BarePause = { port, actions, events, queues: QUEUES };
  const child = start('bare-pause.ts', [JSON.stringify(options)], SUBJECT_CORE);
  stack.defer(() => end(child));
  return `http://127.0.0.1:${(await firstLine<{ port: number }>(child)).port}/`;
}

export async function p11(): Promise<Row> {
  await using site = await startExchange({
    extensions: 100,
    queues: QUEUES,
    agentsPerQueue: AGENTS,
    static: true,
  });
  const agents = Array.from({ length: AGENTS }, (_, i) => extensionOf(i));
  const tokens = new Map<string, string>();
  await together(agents, 4, async (agent) => {
    tokens.set(agent, await signIn(site.base, agent, PASSWORD));
  });
  const paused = new Map<string, boolean>();
  const flip = (agent: string): boolean => {
    const next = paused.get(agent) !== true;
    paused.set(agent, next);
    return next;
  };
  const url = `${site.base}/api/cc_actions/agent.php`;
  async function ours(agent: string, queue: string | null): Promise<void> {
    const on = flip(agent);
    const answer = await request(url, {
      method: 'POST',
      token: tokens.get(agent)!,
      json: {
        action: on ? 'pause' : 'unpause',
        ...(on ? { reason: 'break' } : {}),
        ...(queue === null ? {} : { queue }),
      },
    });
    const { is_paused } = JSON.parse(answer.body) as { is_paused?: boolean };
    if (answer.status !== 200 || is_paused !== on) throw new Error(`${answer.status} ${answer.body}`);
  }
  using folder = temporaryFolder();
  using db = new DatabaseSync(path.join(folder.path, 'commits.db'));
  db.exec('pragma journal_mode=wal; pragma synchronous=full; create table lines (text text)');
  await using stack = new AsyncDisposableStack();
  const addresses = {
    ...(await reconstructions(site.instance, agents, stack)),
    raw: await bare(site.instance, stack),
  };
  const byAddress =
    (who: keyof typeof addresses) =>
    async (agent: string, queue: string | null): Promise<void> => {
      const json: PauseBody = { agent, paused: flip(agent), queue };
      const answer = await request(addresses[who], { method: 'POST', token: TOKEN, json });
      if (answer.status >= 300) throw new Error(`${who}: ${answer.status} ${answer.body}`);
    };
  const ways: Readonly<Record<Who, typeof ours>> = {
    ours,
    raw: byAddress('raw'),
    daemons: byAddress('daemons'),
    cli: byAddress('cli'),
  };
  const all = Object.keys(ways) as Who[];
  /** Milliseconds of each pause, in order of their ends. */
  async function round(way: typeof ours, queue: string | null, concurrency: number): Promise<number[]> {
    const ms: number[] = [];
    await together(agents, concurrency, async (agent) => {
      const from = performance.now();
      await way(agent, queue);
      ms.push(performance.now() - from);
    });
    return ms;
  }
  const disk: number[] = [];
  const figures: Figure[] = [];
  const gates: Gate[] = [];
  for (const [queue, queues] of [
    [queueOf(0), '1 queue'],
    [null, '12 queues'],
  ] as const) {
    for (const concurrency of [1, 50]) {
      const measure = async (who: string): Promise<number[]> =>
        await round(ways[who as Who], queue, concurrency);
      for (const who of all) await measure(who);
      disk.push(quantile(commits(db), 0.5));
      const rounds = await interleave(all, ROUNDS, measure);
      const at = quantilesOf(rounds);
      const what = `${queues}, ${concurrency} at once`;
      const roleOf = { ours: 'ours', raw: 'limit', daemons: 'peer', cli: 'peer' } as const;
      figures.push(
        ...all.flatMap((who) =>
          [0.5, 0.99].map((share) =>
            figure(`${WHO[who]}, ${what}, p${share * 100}`, 'ms', roleOf[who], at(who, share)),
          ),
        ),
        ...RECONSTRUCTED.map((who) =>
          figure(`p50 beside the ${WHO[who]}, ${what}`, '×', 'ours', ratiosOf(at('ours', 0.5), at(who, 0.5))),
        ),
      );
      gates.push(
        atMost(`${what}: p50 over the limit's`, 1.5, beyond(at('ours', 0.5), at('raw', 0.5)), ' ms'),
        atMost(`${what}: p99, times the limit's`, 3, ratiosOf(at('ours', 0.99), at('raw', 0.99)), '×'),
      );
    }
  }
  figures.push(figure('one flushed commit of SQLite on this disk', 'ms', 'limit', disk));
  return {
    id: 'P11',
    title: 'Pause of an agent on a real engine, request to confirmed answer',
    figures,
    gates,
    notes: [
      'The limit is the least that answers over HTTP: it reads the request, sends one action, waits for the events, and writes one row in a flushed commit, which pauses confirmed together share, because an answer may not be earlier than its record on the disk (ADR 0042). It checks no token, keeps no state, and writes no events, intent or audit line; ours does all of that.',
      RECONSTRUCTIONS,
      'Both answer when the engine has taken the action, before its event; they write no intent and no audit line. Wazo’s approach here: the token checked by HTTP, the agent’s state read, the action by HTTP at the daemon of the manager.',
    ],
  };
}
