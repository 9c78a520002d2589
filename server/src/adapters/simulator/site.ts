/** The place of the simulated engine: a folder for recordings, everything else in memory. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { nodeId } from '@offhook/contract/ids.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EngineSite } from '../../ports/engine-site.ts';
import { createConfig } from './config.ts';
import { createLink } from './engine.ts';
import type { SimulatedLink } from './engine.ts';
import { createRecordLog } from './records.ts';
import type { RecordLog } from './records.ts';
import { World } from './world.ts';

const RATE = 8_000;
const WAV_HEADER = 44;

/** A WAV file of silence: 16 bits, one channel, as the engine records. An open one has no length in its head yet. */
function silence(seconds: number, open: boolean): Buffer {
  const bytes = seconds * RATE * 2;
  const file = Buffer.alloc(WAV_HEADER + bytes);
  file.write('RIFF', 0, 'latin1');
  file.writeUInt32LE(open ? 0 : WAV_HEADER - 8 + bytes, 4);
  file.write('WAVEfmt ', 8, 'latin1');
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(RATE, 24);
  file.writeUInt32LE(RATE * 2, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write('data', 36, 'latin1');
  file.writeUInt32LE(open ? 0 : bytes, 40);
  return file;
}

export interface SimulatedSite extends EngineSite {
  readonly world: World;
  readonly link: SimulatedLink;
  readonly callRecords: RecordLog;
  /** Number of next recordings whose file the engine never closes. */
  late_recordings: number;
  /** Resolves once the engine runs with its configuration; rejects where it cannot be loaded. */
  readonly started: Promise<void>;
  /** Resolves once the service has stored every call record and processed every event. */
  settled(): Promise<void>;
}
export interface SimulatedSiteOptions {
  /** The data folder. */
  readonly data: string;
  readonly clock: Clock;
}

export async function openSimulatedSite({ data, clock }: SimulatedSiteOptions): Promise<SimulatedSite> {
  const node = nodeId('sim1');
  const folders = { sounds: path.join(data, 'sounds'), recordings: path.join(data, 'recordings') };
  await mkdir(folders.recordings, { recursive: true, mode: 0o700 });
  const callRecords = createRecordLog(clock);
  const world: World = new World({
    node,
    clock,
    fact: (event) => link.fact(event),
    record: (record) => callRecords.write(record),
  });
  const link = createLink({
    node,
    clock,
    world,
    record(name) {
      const open = site.late_recordings > 0;
      if (open) site.late_recordings -= 1;
      const file = path.join(folders.recordings, `${name}.wav`);
      return writeFile(file, silence(1, open), { mode: 0o600 });
    },
  });
  const engineConfig = createConfig((wanted) => world.load(wanted));
  const first = Promise.withResolvers<void>();
  let running = false;
  const site: SimulatedSite = {
    node,
    folders,
    late_recordings: 0,
    world,
    link,
    callRecords,
    otherRecords: (node) => {
      throw new Error(`the simulator has no engine ${node}`);
    },
    // Nobody leaves a message at the simulator.
    voicemail: {
      page: () => Promise.resolve({ items: [], next: null }),
      audio: () => Promise.resolve(null),
      remove: () => Promise.resolve(0),
    },
    otherVoicemail: () => null,
    started: first.promise,
    settled: async () => {
      await link.processed();
      await callRecords.stored();
    },
    builtInSounds: () => Promise.resolve([]),
    speak: () => Promise.reject(new ServiceError('speech_unavailable', 'the simulator does not speak texts')),
    lackingPrompts: () => Promise.resolve([]),
    createEngine: () => link.engine,
    putMembers: () => Promise.resolve(),
    contactAddresses: () => Promise.resolve([]),
    registerAddresses: () => Promise.resolve([]),
    watch: () => ({
      checks: [],
      finding: (check) => ({ ok: true, detail: `the simulator has no check ${check}` }),
      waitingTasks: 0,
      close: () => Promise.resolve(),
    }),
    moveMailboxes: () => Promise.resolve(),
    blockNetworks: () => Promise.resolve(true),
    firewall: null,
    phoneAddresses: () => Promise.resolve([]),
    findAddress: () =>
      Promise.reject(new ServiceError('engine_unavailable', 'the simulator has no address outside')),
    paths: null,
    webSipPort: () => null,
    certificates: null,
    renewal: null,
    exchange: {
      begin({ configure }) {
        void configure(false).then(() => {
          const wanted = engineConfig.site();
          if (wanted !== null) world.load(wanted);
          running = true;
          link.boot();
          first.resolve();
        }, first.reject);
      },
      running: () => running,
      deskPhones: () => false,
      origin: () => 'simulated',
      packageAge: () => Promise.resolve(null),
      turn: () => null,
      certificate: () => ({ used: null, fault: null }),
      state: () => (running ? 'the engine runs' : 'the engine is starting'),
      engineConfig,
      restartWhenConvenient: () => Promise.resolve(),
      retire: () => Promise.resolve(() => Promise.resolve()),
      calls: () => Promise.resolve(0),
      async stop() {
        world.close();
        running = false;
      },
      async release() {
        world.close();
        running = false;
      },
    },
  };
  return site;
}
