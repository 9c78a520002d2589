/** `play`: the engine writes events of the script; ends when every client has received the events due to it. */
import type { FakeAmi } from '../../server/test/support/fake-ami.ts';
import { queueOf } from '../site-data.ts';
import { byExtension, byQueue, clients, due, pending, setup, wide } from './clients.ts';
import type { Client } from './clients.ts';
import { changeCaller, changeDevice, nextCaller } from './engine.ts';
import type { LoadQuestion, Played } from './questions.ts';
import { latencies, nextNumber, resetLatencies, resetTotals, totals } from './received.ts';
import { AGENTS_PER_QUEUE } from './script.ts';

const SILENCE_MS = 30_000;
/** Counted over all plays: the extensions take turns. */
let devices = 0;
export async function play(ami: FakeAmi, question: LoadQuestion & { ask: 'play' }): Promise<Played> {
  const { rate, window = 1, batch = 1, among = [0, setup.site.extensions], callers: both = false } = question;
  for (const client of clients) [client.received, client.due] = [0, 0];
  resetTotals();
  resetLatencies();
  const size = among[1] - among[0];
  const [firstQueue, queues] = [among[0] / AGENTS_PER_QUEUE, size / AGENTS_PER_QUEUE];
  let sent = 0;
  let wanted = 0;
  /** Number of due messages after each write. */
  const marks: number[] = [0];
  const one = (): string => {
    const n = nextNumber();
    let text: string;
    let audience: readonly Client[];
    if (both && n % 2 === 1) {
      const i = firstQueue + nextCaller(queues);
      text = changeCaller(n, i);
      audience = byQueue.get(queueOf(i)) ?? [];
    } else {
      const i = among[0] + (devices++ % size);
      text = changeDevice(n, i);
      audience = byExtension.get(i) ?? [];
      wanted += due(wide);
    }
    sent += 1;
    wanted += due(audience);
    marks.push(wanted);
    return text;
  };
  const write = (): void => {
    let text = '';
    for (let i = 0; i < batch && sent < question.events; i++) text += one();
    ami.raw(text);
  };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let silent = setTimeout(() => undefined, 0);
  let before = -1;
  const watch = (): void => {
    if (totals.received === before) {
      return reject(
        new Error(`${totals.received} of ${wanted} messages came, then none in ${SILENCE_MS / 1000} s`),
      );
    }
    before = totals.received;
    silent = setTimeout(watch, SILENCE_MS);
  };
  const began = performance.now();
  watch();
  let timer: NodeJS.Timeout | undefined;
  pending.onReceived = () => {
    if (pending.failure !== null) return reject(pending.failure);
    if (rate === null) {
      // The window counts writes of the engine.
      const complete = (): boolean => totals.received >= marks[Math.max(0, sent - (window - 1) * batch)]!;
      while (sent < question.events && complete()) write();
    }
    if (sent >= question.events && totals.received >= wanted) resolve();
  };
  if (rate === null) pending.onReceived();
  else {
    let next = began;
    const tick = (): void => {
      const at = performance.now();
      while (next <= at && sent < question.events) {
        write();
        next += (1000 * batch) / rate;
      }
      if (sent < question.events) timer = setTimeout(tick, Math.max(0, next - performance.now()));
      else pending.onReceived();
    };
    tick();
  }
  try {
    await promise;
    const seconds = (performance.now() - began) / 1000;
    // Later messages are repeated, or sent to the wrong client.
    await new Promise((done) => setTimeout(done, 20));
    for (const client of clients) if (!client.frozen && client.received !== client.due) totals.wrong += 1;
    return { seconds, events: sent, due: wanted, ...totals, ...latencies() };
  } finally {
    clearTimeout(timer);
    clearTimeout(silent);
    pending.onReceived = () => undefined;
  }
}
