import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AgentsReply } from '@offhook/contract/agents.ts';
import type { AgentSummary } from '@offhook/contract/agents.ts';
import { PollReply } from '@offhook/contract/stream.ts';
import { openSse } from '../support/sse-client.ts';
import { dialCode } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';
import { openWs } from '../support/ws-client.ts';

interface Said {
  readonly type: string;
  readonly data: { readonly queue: string | null; readonly reason?: string; readonly agent: AgentSummary };
}
/** Zoë is a member of both queues of the demo. */
const QUEUES = 2;

describe('agent transports', () => {
  const site = useSite();

  test('agent transports - a pause by phone, by API and by socket is one state with reason and start on every transport', async () => {
    const url = site().base;
    const port = Number(new URL(url).port);
    const zoe = await site().person('1003');
    const sam = await site().person('1002');
    await using phone = await site().phone('1003');
    await using socket = await openWs({ port, token: zoe.token });
    socket.send({ op: 'subscribe', id: 1, topics: ['agents'], snapshot: true });
    const { cursor } = await socket.next('snapshot');
    const sse = await openSse(`${url}/api/v1/events?topics=agents/1003&cursor=${cursor}`, sam.token);
    const headers = { authorization: `Bearer ${sam.token}` };
    let pollCursor = cursor;

    const sinceOf = (said: readonly Said[], reason: string): string | undefined => {
      const pauses = said.filter((e) => e.type === 'agent.not_ready' && e.data.reason === reason);
      const queues = new Set(pauses.map((e) => e.data.queue));
      return queues.size < QUEUES ? undefined : pauses.at(-1)!.data.agent.readiness.since!;
    };
    const polled: Said[] = [];
    const heard = async (reason: string): Promise<string> => {
      const since = await until(`the pause ${reason} by WebSocket`, () =>
        sinceOf(
          socket.frames.flatMap((f) => (f.op === 'event' ? [f.event as unknown as Said] : [])),
          reason,
        ),
      );
      const bySse = await until(`the pause ${reason} by SSE`, () =>
        sinceOf(
          sse.messages.flatMap((m) => (m.event === '' && m.data !== '' ? [JSON.parse(m.data) as Said] : [])),
          reason,
        ),
      );
      const byPoll = await until(`the pause ${reason} by long poll`, async () => {
        const query = `topics=agents/1003&cursor=${pollCursor}&wait=1`;
        const answer = await fetch(`${url}/api/v1/events/poll?${query}`, { headers });
        const reply = PollReply.parse(await answer.json());
        pollCursor = reply.cursor;
        polled.push(...(reply.events as unknown as Said[]));
        return sinceOf(polled, reason);
      });
      const list = AgentsReply.parse(await (await fetch(`${url}/api/v1/agents`, { headers })).json());
      const agents = [
        list.agents.find((agent) => agent.extension === '1003')!,
        (await zoe.agent('get_status')).agent,
      ];
      assert.deepEqual([bySse, byPoll], [since, since]);
      for (const { readiness } of agents) {
        assert.deepEqual([readiness.ready, readiness.reason, readiness.since], [false, reason, since]);
      }
      return since;
    };

    const paused: string[] = [];
    const began = Date.now();
    await zoe.agent('pause', { reason: 'lunch' });
    const confirmed = Date.now();
    paused.push(await heard('lunch'));
    const since = Date.parse(paused[0]!);
    assert.ok(since >= began && since <= confirmed, `${began} ${since} ${confirmed}`);

    socket.send({
      op: 'command',
      id: 'c1',
      action: 'agent.pause',
      data: { extension: '1003', reason: 'training' },
    });
    const result = await socket.next('result');
    assert.equal(result.ok, true, JSON.stringify(result));
    paused.push(await heard('training'));

    await dialCode(phone, '*23');
    await dialCode(phone, '*22');
    paused.push(await heard('break'));
    assert.equal(new Set(paused).size, 3, 'each pause began at its own time');
    sse.stop();
  });
});
