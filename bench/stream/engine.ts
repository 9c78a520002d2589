/** The scripted engine of the load: its state at the start, and the changes that it reports. */
import { startFakeAmi } from '../../server/test/support/fake-ami.ts';
import type { FakeAmi, FakeState } from '../../server/test/support/fake-ami.ts';
import { extensionOf, queueOf } from '../site-data.ts';
import type { Site } from './questions.ts';
import { AGENTS_PER_QUEUE, callerFrame, deviceFrame } from './script.ts';

/** Engine of a site: every phone is registered, and each queue has its own caller who joins and leaves. */
function engineOf({ extensions, queues }: Site): Partial<FakeState> {
  return {
    devices: Object.fromEntries(
      Array.from({ length: extensions }, (_, i) => [`PJSIP/${extensionOf(i)}`, 'NOT_INUSE']),
    ),
    queues: Object.fromEntries(
      Array.from({ length: queues }, (_, q) => [
        queueOf(q),
        {
          members: Array.from({ length: AGENTS_PER_QUEUE }, (_member, i) => ({
            name: extensionOf(q * AGENTS_PER_QUEUE + i),
            interface: `PJSIP/${extensionOf(q * AGENTS_PER_QUEUE + i)}`,
            membership: 'static' as const,
          })),
        },
      ]),
    ),
    channels: Array.from({ length: queues }, (_, q) => ({
      name: `PJSIP/trunk-${q.toString(16).padStart(8, '0')}`,
      uniqueid: `bench-${q}`,
      state: 6,
      caller: '12025550143',
      exten: '5000',
    })),
  };
}
export const startEngine = async (site: Site): Promise<FakeAmi> =>
  await startFakeAmi({ state: engineOf(site) });

/** Extensions whose device is in use. Each event must change one: the service publishes nothing else. */
const inUse = new Set<number>();
/** Frame `n` of the script: the device of extension `i` is in use, or idle again. */
export function changeDevice(n: number, i: number): string {
  if (!inUse.delete(i)) inUse.add(i);
  return deviceFrame(n, i, inUse.has(i));
}

/** Callers in a queue. */
const joined = new Set<number>();
let callers = 0;
/** The queue of the next caller: the queues take turns, over all plays and floods. */
export const nextCaller = (queues: number): number => callers++ % queues;
/** Frame `n` of the script: the caller of queue `q` joins, or leaves. */
export function changeCaller(n: number, q: number): string {
  if (!joined.delete(q)) joined.add(q);
  return callerFrame(n, queueOf(q), q, joined.has(q));
}
