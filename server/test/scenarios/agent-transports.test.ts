import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Agents } from '@offhook/contract/agents.ts';
import { PollReply } from '@offhook/contract/stream.ts';
import { openSse } from '../support/sse-client.ts';
import { dialCode } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';
import { openWs } from '../support/ws-client.ts';

interface Said {
  readonly type: string;
  readonly data: { readonly queue: string | null; readonly reason?: string; readonly since?: string };
}
/** A change must be heard everywhere within a second; how much sooner it is stands in docs/performance.md. */
const SECOND = 1_000;

describe('agent transports', () => {
  const site = useSite();

  test('agent transports - a pause by phone, by API and by socket is one state with reason and since on every transport', async () => {
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
    let polled = cursor;

    const heard = async (reason: string): Promise<string> => {
      const pause = (event: Said): boolean => event.type === 'agent.not_ready' && event.data.reason === reason;
      const bySocket = await until(`agent.not_ready ${reason} by WebSocket`, () =>
        socket.frames
          .flatMap((f) => (f.op === 'event' ? [f.event as unknown as Said] : []))
          .findLast((event) => pause(event)),
      );
      const bySse = await until(`agent.not_ready ${reason} by SSE`, () =>
        sse.messages
          .flatMap((m) => (m.event === '' && m.data !== '' ? [JSON.parse(m.data) as Said] : []))
          .findLast((event) => pause(event)),
      );
      const byPoll = await until(`agent.not_ready ${reason} by long poll`, async () => {
        const answer = await fetch(`${url}/api/v1/events/poll?topics=agents/1003&cursor=${polled}&wait=1`, {
          headers,
        });
        const reply = PollReply.parse(await answer.json());
        polled = reply.cursor;
        return (reply.events as unknown as Said[]).findLast((event) => pause(event));
      });
      assert.equal(bySse.data.since, bySocket.data.since);
      assert.equal(byPoll.data.since, bySocket.data.since);

      const list = Agents.parse(await (await fetch(`${url}/api/v1/agents`, { headers })).json());
      const byRest = list.agents.find((agent) => agent.extension === '1003');
      const byPhp = (await zoe.agent('get_status')).agent;
      for (const agent of [byRest!, byPhp]) {
        assert.equal(agent.state === 'not_ready' || agent.state === 'busy_other', true, agent.state);
        assert.deepEqual(
          [agent.readiness.ready, agent.readiness.reason, agent.readiness.since],
          [false, reason, bySocket.data.since],
        );
      }
      return bySocket.data.since!;
    };

    const paused: string[] = [];
    const began = Date.now();
    await zoe.agent('pause', { reason: 'lunch' });
    paused.push(await heard('lunch'));
    assert.ok(Date.parse(paused[0]!) - began < SECOND);

    socket.send({ op: 'command', id: 'c1', action: 'agent.pause', data: { extension: '1003', reason: 'training' } });
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
