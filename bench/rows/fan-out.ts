/** P5: messages at full speed, and the effect of slow readers (P13) on others. */
import { QUICK, ROUNDS, atLeast, atMost, count, figure, interleave, ratiosOf } from '../lib.ts';
import type { Figure, Gate, Row } from '../lib.ts';
import { NAMES, startSubject, withSubjects } from '../stream/subjects.ts';
import type { Cost, Kind, Subject } from '../stream/subjects.ts';

const EXTENSIONS = 1_000;
const MESSAGES = 400_000;
const SIZES = QUICK ? [1_000] : [100, 1_000, 10_000];
/** Unreceived writes of the engine: enough that no client idles, few enough that none falls behind. */
const WINDOW = 4;
const BATCH = 10;

const cpuOf = (costs: readonly Cost[] = []): number[] => costs.map((c) => c.cpu / c.received);
const rateOf = (costs: readonly Cost[] = []): number[] => costs.map((c) => c.received / c.seconds);

export async function p5(): Promise<Row> {
  const kinds: readonly Kind[] = ['ours', 'ws', 'socket.io', 'redis', 'jetstream', 'preframed'];
  const figures: Figure[] = [];
  const gates: Gate[] = [];
  await withSubjects(kinds, { extensions: EXTENSIONS, queues: 0 }, 10_000, async (subjects) => {
    for (const clients of SIZES) {
      const events = Math.max(40, MESSAGES / clients);
      const one = { events, rate: null, window: WINDOW };
      const many = { events: events * 2, rate: null, window: WINDOW, batch: BATCH };
      for (const subject of subjects.values()) {
        await subject.connect({ count: clients, topics: 'wide' });
        await subject.play({ ...one, events: events / 4 });
      }
      const ways = [...kinds, 'batched'];
      const costs = await interleave(ways, ROUNDS, (way) =>
        way === 'batched' ? subjects.get('ours')!.play(many) : subjects.get(way as Kind)!.play(one),
      );
      for (const subject of subjects.values()) await subject.ask({ ask: 'close' });
      const what = `${count(clients)} clients`;
      for (const kind of kinds) {
        const role = kind === 'ours' ? 'ours' : kind === 'preframed' ? 'limit' : 'peer';
        figures.push(
          figure(`${NAMES[kind]}, ${what}`, 'µs CPU/message', role, cpuOf(costs.get(kind))),
          figure(`${NAMES[kind]}, ${what}`, 'messages/s', role, rateOf(costs.get(kind))),
        );
      }
      const ours = cpuOf(costs.get('ours'));
      const batched = `Offhook, ${what}, events in groups of ${BATCH}`;
      const beside = ratiosOf(cpuOf(costs.get('preframed')), ours);
      const faster = ratiosOf(cpuOf(costs.get('ws')), ours);
      const times = (kind: Kind): number[] => ratiosOf(cpuOf(costs.get(kind)), ours);
      const byBatch = ratiosOf(cpuOf(costs.get('preframed')), cpuOf(costs.get('batched')));
      figures.push(
        figure(batched, 'µs CPU/message', 'ours', cpuOf(costs.get('batched'))),
        figure(batched, 'messages/s', 'ours', rateOf(costs.get('batched'))),
        figure(`beside one frame written to bare sockets, ${what}`, '×', 'ours', beside, 'lower'),
        figure(`times the speed of Redis pub/sub, ${what}`, '×', 'ours', times('redis')),
        figure(`times the speed of JetStream, ${what}`, '×', 'ours', times('jetstream')),
      );
      gates.push(
        atLeast(`${what}: share of the speed of one frame written to bare sockets`, 0.9, beside, '×'),
        atLeast(`${what}: faster than ws`, 1.2, faster, '×'),
        atLeast(`${what}: events in groups, faster than one by one on bare sockets`, 5, byBatch, '×'),
      );
    }
  });
  return {
    id: 'P5',
    title: 'Events to every client, as fast as they go',
    figures,
    gates,
    notes: [
      `At most ${WINDOW} writes of the engine are under way at once. What is committed in one turn goes out in one write.`,
      'Ours decodes the engine, keeps the state and commits each event to the journal; the peers only pass it on.',
      `${NAMES.redis} and ${NAMES.jetstream} are servers of Debian’s packages to which the clients connect directly; their processor time includes the small publisher that reads the engine. Redis keeps nothing. JetStream stores each event in a file before it sends it on with its number (\`republish\`); its publisher waits for no answer, so nothing of it is confirmed.`,
    ],
  };
}

const CLIENTS = QUICK ? 2_000 : 10_000;
const FROZEN = 100;
/** Some 10 MB for each frozen client, more than the kernel buffers. */
const MISSED = 25_000;
/** The frozen clients are wallboards with every event; the measured ones have their own extension. */
export async function p13(): Promise<Row> {
  const kinds: readonly Kind[] = ['ours', 'ws'];
  const site = { extensions: CLIENTS, queues: CLIENTS / 20 };
  const calm = { events: QUICK ? 480 : 1_920, rate: 240, callers: true };
  const connect = async (subject: Subject): Promise<void> => {
    await subject.connect({ count: CLIENTS, topics: 'narrow', wideFirst: FROZEN });
    await subject.play(calm);
  };
  await using without = await startSubject('ours', site, { clients: CLIENTS });
  await connect(without);
  return await withSubjects(kinds, site, CLIENTS, async (subjects) => {
    const grown = new Map<Kind, number>();
    for (const [kind, subject] of subjects) {
      await connect(subject);
      await subject.ask({ ask: 'freeze', count: FROZEN });
      const held = await subject.memory();
      await subject.play({ events: MISSED, rate: 5_000, batch: 50, among: [0, FROZEN] });
      grown.set(kind, (await subject.memory()) - held);
    }
    const costs = await interleave([...kinds, 'without'], ROUNDS, (name) =>
      (subjects.get(name as Kind) ?? without).play(calm),
    );
    const p99 = (name: string): number[] => costs.get(name)!.map((cost) => cost.p99);
    const mib = (kind: Kind): number => grown.get(kind)! / 2 ** 20;
    return {
      id: 'P13',
      title: `${FROZEN} of ${count(CLIENTS)} clients read nothing any more, and miss ${count(MISSED)} events`,
      figures: [
        figure('Offhook, memory grown', 'MiB', 'ours', [mib('ours')]),
        figure('ws, memory grown', 'MiB', 'peer', [mib('ws')]),
        figure('Offhook, p99 of the others', 'ms', 'ours', p99('ours')),
        figure('ws, p99 of the others', 'ms', 'peer', p99('ws')),
        figure('Offhook without frozen clients, p99', 'ms', 'limit', p99('without')),
      ],
      gates: [
        atMost('memory grown, 1 MiB for each', FROZEN, mib('ours'), ' MiB'),
        atMost('p99 of the others, times without frozen', 1.2, ratiosOf(p99('ours'), p99('without')), '×'),
      ],
    } satisfies Row;
  });
}
