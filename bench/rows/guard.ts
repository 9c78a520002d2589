/** P29: what call limits add to an attempt to call outside, from the INVITE to the far side's answer. */
import { startTestEngine } from '../../server/test/support/throwaway-engine.ts';
import type { TestEngine } from '../../server/test/support/throwaway-engine.ts';
import { farSidesReached } from '../../server/test/support/phone.ts';
import {
  PASSWORD,
  callLimit,
  company,
  outboundRoute,
  timeCondition,
  trunk,
} from '../../server/test/support/rendered-company.ts';
import { statusOf } from '../../server/src/adapters/asterisk/phone/message.ts';
import { openMedia } from '../../server/src/adapters/asterisk/phone/media.ts';
import { openTransport, randomTag } from '../../server/src/adapters/asterisk/phone/transport.ts';
import { QUICK, ROUNDS, atMost, beyond, figure, interleave, quantilesOf } from '../lib.ts';
import type { Row } from '../lib.ts';
import { openBusyFarSide } from '../far-side.ts';

const ATTEMPTS = QUICK ? 20 : 100;
const CALLER = '1001';
const NUMBER = '0044207946000';

export async function p29(): Promise<Row> {
  await using stack = new AsyncDisposableStack();
  const closed = { kind: 'hang_up' as const };
  async function startOne(limited: boolean): Promise<TestEngine> {
    const far = stack.adopt(await openBusyFarSide('127.0.0.2'), (one) => one.close());
    const at = { host: far.host, port: far.port };
    const engine = stack.use(
      await startTestEngine(
        company({
          trunks: [trunk({ name: 'north', ...at, max_calls: null })],
          outbound_routes: [
            outboundRoute({
              name: 'abroad',
              patterns: ['00Z.'],
              class: 'international',
              trunks: [{ trunk: 'north' }],
            }),
          ],
          time_conditions: limited
            ? [timeCondition({ name: 'office', override: 'open', when_open: closed, when_closed: closed })]
            : [],
          call_limits: limited
            ? [
                callLimit({
                  name: 'each',
                  max_calls: 5,
                  calls_per_hour: 1_000,
                  calls_per_day: 10_000,
                  minutes_per_hour: 10_000,
                  minutes_per_day: 100_000,
                  countries: ['+44'],
                  hours: 'office',
                }),
                callLimit({ name: 'site', shared: true, max_calls: 50, calls_per_day: 100_000 }),
              ]
            : [],
        }),
      ),
    );
    await farSidesReached(engine.cli, [at]);
    return engine;
  }
  const engines = { limited: await startOne(true), free: await startOne(false) } as const;
  /** Milliseconds of each attempt. */
  async function round(which: string): Promise<number[]> {
    const { server } = engines[which as keyof typeof engines];
    const transport = await openTransport({
      server,
      username: CALLER,
      password: PASSWORD,
      onRequest() {},
    });
    const media = await openMedia();
    const ms: number[] = [];
    try {
      for (let i = 0; i < ATTEMPTS; i += 1) {
        const at = `${server.host}:${server.port}`;
        const dialog = {
          callId: randomTag(),
          local: `<sip:${CALLER}@${at}>;tag=${randomTag()}`,
          remote: `<sip:${NUMBER}@${at}>`,
          target: `sip:${NUMBER}@${at}`,
          cseq: 0,
        };
        const began = performance.now();
        const status = statusOf(await transport.send(dialog, 'INVITE', { body: media.sdp() }).response);
        ms.push(performance.now() - began);
        if (status !== 486) throw new Error(`the call was answered ${status}`);
      }
      return ms;
    } finally {
      media.close();
      await transport.close();
    }
  }
  for (const which of Object.keys(engines)) await round(which);
  const rounds = await interleave(Object.keys(engines), ROUNDS, round);
  const at = quantilesOf(rounds);
  const added = beyond(at('limited', 0.5), at('free', 0.5));
  return {
    id: 'P29',
    title: 'A call outside under two call limits, declined by the far side',
    figures: [
      figure('with limits, p50', 'ms', 'ours', at('limited', 0.5)),
      figure('with limits, p99', 'ms', 'ours', at('limited', 0.99)),
      figure('the same engine without limits, p50', 'ms', 'limit', at('free', 0.5)),
      figure('the same engine without limits, p99', 'ms', 'limit', at('free', 0.99)),
      figure('added by the limits to each attempt, p50', 'ms', 'ours', added),
    ],
    gates: [atMost('added by the limits to each attempt, p50', 5, added, ' ms')],
    notes: [
      'Calls and minutes by hour and day, calls at once, countries and hours of the extension, and calls at once and by day of the site; each is looked up twice, before the call and on the channel of the trunk.',
    ],
  };
}
