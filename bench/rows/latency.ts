/** From a frame of the engine to the changed presence read by a client, while other frames arrive. */
import { startFakeAmi } from '../../server/test/support/fake-ami.ts';
import { request } from '../http-client.ts';
import {
  ROUNDS,
  SERVICE_FLAGS,
  SUBJECT_CORE,
  ask,
  atMost,
  end,
  figure,
  firstLine,
  quantile,
  start,
  temporaryFolder,
} from '../lib.ts';
import type { Row } from '../lib.ts';
import { recordingCopy } from '../recording.ts';
import { extensionOf, fillSite } from '../site-data.ts';

const EXTENSIONS = 1_000;
const FRAMES_PER_SECOND = 2_000;
const TICK_MS = 5;
const TIMES = 150;

export async function latency(): Promise<Row> {
  using folder = temporaryFolder();
  const data = folder.path;
  await using engine = await startFakeAmi();
  await fillSite(data, { extensions: EXTENSIONS, queues: 0, agentsPerQueue: 0 });
  const service = start('service-subject.ts', [data, engine.port], SUBJECT_CORE, SERVICE_FLAGS);
  let sent = 0;
  let due = 0;
  let frames: string[] = [];
  let copy = 0;
  let last = performance.now();
  const flood = setInterval(() => {
    const now = performance.now();
    due += ((now - last) * FRAMES_PER_SECOND) / 1000;
    last = now;
    // The last two extensions are the measured ones.
    while (frames.length < due) {
      const text = recordingCopy(copy++, EXTENSIONS - 2).toString('latin1');
      frames = frames.concat(text.split('\r\n\r\n').filter((frame) => frame !== ''));
    }
    const count = Math.floor(due);
    due -= count;
    sent += count;
    if (count > 0) engine.raw(`${frames.splice(0, count).join('\r\n\r\n')}\r\n\r\n`);
  }, TICK_MS);
  try {
    const { port } = await firstLine<{ port: number }>(service);
    const { token } = await ask<{ token: string }>(service, { ask: 'token' });
    const watched = extensionOf(EXTENSIONS - 1);
    const url = `http://127.0.0.1:${port}/api/mobile/contacts.php?q=${watched}`;
    const statusNow = async (): Promise<string> => {
      const answer = await request(url, { token });
      return (JSON.parse(answer.body) as { contacts: { sip_status: string }[] }).contacts[0]!.sip_status;
    };
    /** Milliseconds from each change until it is read, by repeated requests. */
    async function round(): Promise<number[]> {
      const ms: number[] = [];
      for (let i = 0; i < TIMES; i++) {
        const state = i % 2 === 0 ? 'INUSE' : 'NOT_INUSE';
        await new Promise((resolve) => setTimeout(resolve, 3 + ((i * 7) % 11)));
        const from = performance.now();
        engine.event('DeviceStateChange', { Device: `PJSIP/${watched}`, State: state });
        while ((await statusNow()) !== state) {
          if (performance.now() - from > 5_000) throw new Error(`${state} was never shown`);
        }
        ms.push(performance.now() - from);
      }
      return ms;
    }
    await round();
    await ask(service, { ask: 'delay' });
    const rounds: number[][] = [];
    const [sentBefore, began] = [sent, performance.now()];
    for (let i = 0; i < ROUNDS; i++) rounds.push(await round());
    const speed = ((sent - sentBefore) / (performance.now() - began)) * 1000;
    const loop = await ask<{ p99: number }>(service, { ask: 'delay' });
    if (speed < FRAMES_PER_SECOND * 0.95) throw new Error(`only ${speed} frames/s were sent`);
    const p50 = figure(
      'change of a device to presence read over HTTP, p50',
      'ms',
      'ours',
      rounds.map((ms) => quantile(ms, 0.5)),
    );
    const p99 = figure(
      'change of a device to presence read over HTTP, p99',
      'ms',
      'ours',
      rounds.map((ms) => quantile(ms, 0.99)),
    );
    return {
      id: 'LATENCY',
      title: 'Presence, while 2,000 frames a second arrive',
      figures: [p50, p99, figure("delay of the service's event loop, p99", 'ms', 'ours', [loop.p99])],
      gates: [atMost('p99', 10, p99.series.values, ' ms')],
      notes: ['The time includes asking again and again over HTTP until the change is seen.'],
    };
  } finally {
    clearInterval(flood);
    await end(service);
  }
}
