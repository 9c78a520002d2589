/** A board of any size: its stream is spoken by the test, everything else by the site. */
import type { Page, WebSocketRoute } from 'playwright-core';
import type { AgentSummary } from '@offhook/contract/agents.ts';
import type { QueueStats } from '@offhook/contract/wallboard.ts';

const AT = '2026-11-22T09:00:00.000Z';
const stats = (queue: string, answered: number): QueueStats => ({
  queue,
  day: '2026-11-22',
  from: null,
  to: null,
  sums: {
    offered: answered,
    calls: answered,
    answered,
    answered_in_threshold: answered,
    abandoned: 0,
    abandoned_short: 0,
    abandoned_in_threshold: 0,
    flowed_out: 0,
    open: 0,
    lost: 0,
    ended_unobserved: 0,
    wait_answered_seconds: 0,
    wait_abandoned_seconds: 0,
    longest_wait_seconds: 0,
    handled: answered,
    talk_seconds: 0,
    hold_seconds: 0,
    wrap_up_seconds: 0,
    transferred: 0,
    missed_offers: 0,
    busy_seconds: 0,
    available_seconds: 0,
    staffed_seconds: 0,
  },
  service_level: 1,
  service_level_formula: 'ignore_short',
  threshold_seconds: 20,
  short_abandon_seconds: 5,
  flow_outs: 'counted',
  abandon_rate: 0,
  answer_rate: 1,
  transfer_rate: 0,
  average_speed_of_answer_seconds: 3,
  median_speed_of_answer_seconds: 3,
  p90_speed_of_answer_seconds: 3,
  average_time_to_abandon_seconds: null,
  average_handling_seconds: 60,
  occupancy: 0.5,
  longest_wait_seconds: 0,
  waiting: 0,
  longest_waiting_since: null,
  expected_wait_seconds: 0,
  agents: {
    logged_in: 4,
    available: 2,
    offered: 0,
    talking: 1,
    wrap_up: 0,
    busy_other: 0,
    not_ready: 1,
    unreachable: 0,
  },
});
const agent = (extension: string, state: AgentSummary['state']): AgentSummary => ({
  extension,
  name: `Agent ${extension} <img src=x>`,
  state,
  since: AT,
  session: 'logged_in',
  readiness: { ready: true, reason: null, since: AT, source: 'agent', until: null },
  pending: null,
  pending_reason: null,
  engagement: state === 'talking' ? 'talking' : 'idle',
  queue: state === 'talking' ? 'q0' : null,
  call_id: null,
  offer_id: null,
  deadline: null,
  direction: null,
  not_responding: false,
});

export interface ScriptedBoard {
  /** A new `queue.stats` of this queue. */
  answered(queue: string, count: number): Promise<void>;
  talks(extension: string): Promise<void>;
  /** Queues whose tiles were drawn meanwhile. */
  drawnBy(work: () => Promise<unknown>): Promise<string[]>;
}
/** Queues are `q0`, `q1`, …, agents 5000, 5001, …; their names hold HTML. */
export async function scriptBoard(
  page: Page,
  of: { readonly queues: number; readonly agents: number },
): Promise<ScriptedBoard> {
  const sockets = new Map<string, WebSocketRoute>();
  const last = new Map<string, number>();
  let seq = 1_000;
  const snapshots: Readonly<Record<string, () => object>> = {
    queues: () => ({
      as_of: AT,
      stale: false,
      queues: Array.from({ length: of.queues }, (_, i) => ({
        name: `q${i}`,
        number: String(6_000 + i),
        title: `Queue ${i} <b>bold</b>`,
        strategy: 'ringall',
        ring_seconds: 15,
        wrap_up_seconds: 0,
        max_wait_seconds: 0,
        members: [],
        callers: [],
        offers: [],
        stats: stats(`q${i}`, i),
      })),
    }),
    agents: () => ({
      as_of: AT,
      stale: false,
      agents: Array.from({ length: of.agents }, (_, i) => ({
        ...agent(String(5_000 + i), 'available'),
        stale: false,
        queues: [],
      })),
    }),
  };
  await page.routeWebSocket(/\/api\/v1\/stream/, (socket) => {
    const send = (frame: object): void => socket.send(JSON.stringify(frame));
    socket.onMessage((text) => {
      const frame = JSON.parse(String(text)) as { op: string; id: string; topics: string[] };
      if (frame.op !== 'subscribe') return;
      const [topic = ''] = frame.topics;
      sockets.set(topic, socket);
      send({ op: 'subscribed', id: frame.id, topics: frame.topics, cursor: 1_000 });
      send({ op: 'snapshot', topic, cursor: 1_000, data: snapshots[topic]?.() ?? {} });
    });
    send({
      op: 'hello',
      protocol: 'offhook.v1',
      epoch: 'e',
      head: 1_000,
      heartbeat_seconds: 60,
      level: 'agent',
    });
  });
  await page.route('**/api/v1/queues/*/stats**', (route) =>
    route.fulfill({ json: { success: true, stats: {}, series: [], gaps: [] } }),
  );
  const tell = (topic: string, type: string, data: object): Promise<void> => {
    const prev = last.get(topic) ?? 1_000;
    seq += 1;
    last.set(topic, seq);
    const event = {
      specversion: '1.0',
      id: `e:${seq}`,
      source: '/offhook/t',
      type,
      subject: topic,
      time: AT,
      seq,
      observed: 'live',
      data,
    };
    sockets.get(topic)?.send(JSON.stringify({ op: 'event', prev, event }));
    return Promise.resolve();
  };
  return {
    answered: (queue, count) => tell('queues', 'queue.stats', stats(queue, count)),
    talks: (extension) => tell('agents', 'agent.talking', { extension, agent: agent(extension, 'talking') }),
    async drawnBy(work) {
      await page.evaluate(`
        globalThis.drawn = new Set();
        new MutationObserver((records) => {
          for (const { target } of records) {
            const tile = (target instanceof Element ? target : target.parentElement)?.closest('[data-queue]');
            if (tile) globalThis.drawn.add(tile.dataset.queue);
          }
        }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
      `);
      await work();
      return page.evaluate<string[]>('[...globalThis.drawn]');
    },
  };
}
