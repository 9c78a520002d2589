import { mkdir, readdir, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { Recording } from '@offhook/contract/recordings.ts';
import { createVirtualClock } from '../../src/adapters/memory/virtual-clock.ts';
import { silent } from '../../src/core/log.ts';
import type { KeyRights } from '../../src/rights/rights.ts';
import { createRecordings } from '../../src/features/recordings/feature.ts';
import { recordingOperations } from '../../src/features/recordings/operations.ts';
import { addOperations } from '../../src/http/operations.ts';
import type { AuditEntry } from '../../src/ports/audit.ts';
import type { CallRecord, CallRecordBatch } from '../../src/ports/call-records.ts';
import type { KnownConversation } from '../../src/ports/conversations.ts';
import type { LiveLeg, LiveView, ModelInput } from '../../src/ports/live.ts';
import { temporaryStore } from '../conformance/store-temp.ts';
import { authenticatorWithKeys, hostFixture } from './host-fixture.ts';
import { until } from './until.ts';

export const CALL = 'ast1:1.1';
/** A WAV file of 8 kHz, closed by the engine: its header has the length. */
export function wav(samples: number): Buffer {
  const data = Buffer.alloc(samples * 2, 7);
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + data.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(data.length, 40);
  return Buffer.concat([head, data]);
}
/** The same while the engine still writes it. */
export const openWav = (samples: number): Buffer => {
  const file = wav(samples);
  file.writeUInt32LE(0, 4);
  return file;
};

export interface Body {
  readonly code?: string;
  readonly detail?: string;
  readonly recording: Recording;
  readonly recordings: readonly Recording[];
  readonly next_cursor: string | null;
}
export interface RecordingsRigOptions {
  readonly keys?: Readonly<Record<string, Partial<KeyRights>>>;
  readonly own?: boolean;
  readonly days?: number;
  /** True where all nodes have the same folder. */
  readonly shared?: boolean;
  /** Names of home nodes. */
  readonly homes?: readonly string[];
  readonly room_bytes?: number;
}
/** Recordings over a real store and folder, behind a real host; the test supplies events and call records. */
export async function recordingsRig(t: TestContext, options: RecordingsRigOptions = {}) {
  const temp = await temporaryStore();
  const clock = createVirtualClock();
  const folder = path.join(temp.folder, 'recordings');
  await mkdir(folder);
  const trail: AuditEntry[] = [];
  const touched: string[] = [];
  const inputs: ModelInput[] = [];
  const legs = new Map<string, LiveLeg>();
  const conversations = new Map<string, KnownConversation>();
  /** `before`: a line of the trail waits for it. */
  const audit = { fails: false, before: (): Promise<void> => Promise.resolve() };
  const open = (node = 'ast1', inside = folder) =>
    createRecordings({
      store: temp.store,
      conversations: {
        byCall: async (call) => conversations.get(call) ?? null,
        talkedIn: async (calls, extensions) =>
          new Set(
            calls.filter((call) =>
              conversations.get(call)?.talkers.some((talker) => extensions.includes(talker)),
            ),
          ),
        withPart: async () => ({ calls: [...conversations.keys()], since_ms: 0 }),
        touch: async (calls) => void touched.push(...calls),
      },
      audit: {
        async record(entry) {
          await audit.before();
          if (audit.fails) throw new Error('no trail');
          trail.push(entry);
        },
      },
      live: {
        live: true,
        leg: (id: string) => legs.get(id),
        gone: (id: string) => !legs.has(id),
      } as unknown as LiveView,
      node,
      clock,
      log: silent,
      tell: (input) => void inputs.push(input),
      folder: inside,
      shared: options.shared ?? false,
      homes: () => options.homes ?? [],
      days: options.days ?? 0,
      own: options.own ?? true,
      room_bytes: options.room_bytes ?? 0,
    });
  let recordings = await open();
  const host = await hostFixture({ authenticator: authenticatorWithKeys(options.keys) });
  // The routes stay when the service starts again.
  const present = new Proxy(recordings, { get: (_, member) => Reflect.get(recordings, member) as unknown });
  addOperations(host.app, [recordingOperations(present, host.app)]);
  await host.app.ready();
  t.after(async () => {
    await host.close();
    await recordings.close();
    await temp[Symbol.asyncDispose]();
  });

  /** A leg of 1003 in `CALL`, connected to 1004. */
  const leg = (id = 'ast1:1.1', extension = '1003'): LiveLeg => {
    const made = { id, call: CALL, extension, recording: true, recording_paused: false } as LiveLeg;
    legs.set(id, made);
    conversations.set(CALL, {
      id: CALL,
      calls: [CALL],
      extensions: ['1003', '1004'],
      talkers: ['1003', '1004'],
      queues: [],
      started_ms: clock.now(),
      ended_ms: clock.now(),
      open: true,
    });
    return made;
  };
  const event = (type: DomainEvent['type'], data: object): void =>
    recordings.onDomainEvent({ type, at: clock.now(), data } as DomainEvent);
  const stopped = (id = 'ast1:1.1'): void => event('call.recording_stopped', { leg: { leg_id: id } });
  const left = (id = 'ast1:1.1'): void => {
    legs.delete(id);
    event('call.left', { leg: { leg_id: id } });
  };
  const write = (name: string, content: Buffer): Promise<void> =>
    writeFile(path.join(folder, name.endsWith('.wav') ? name : `${name}.wav`), content);
  /** A recording on demand of `ms`, stored. */
  const stored = async (ms = 4_000, of = leg()): Promise<string> => {
    const id = await recordings.keeper.begin(of);
    await clock.advance(ms);
    await write(id, wav(ms * 8));
    stopped(of.id);
    await recordings.idle();
    return id;
  };
  /** Advances time until all started work is done. */
  const done = async (): Promise<void> => {
    let over = false;
    const idle = recordings.idle().finally(() => (over = true));
    while (!over) await clock.advance(200);
    await idle;
  };
  /** Supplies call records as the engine's own, through the reader of the history. */
  const hear = async (...records: Partial<CallRecord>[]): Promise<void> => {
    const batch = {
      records: records.map((r) => ({ facts: {}, call: CALL, ...r })),
    } as unknown as CallRecordBatch;
    const watched = recordings.watching({
      async *read() {
        yield batch;
      },
    });
    for await (const _ of watched.read(null, new AbortController().signal));
  };
  const get = async (token: string, url: string, headers: Record<string, string> = {}) => {
    const response = await host.app.inject({
      url: `/api/v1/recordings${url}`,
      headers: { authorization: `Bearer ${token}`, ...headers },
    });
    const json = /json/.test(String(response.headers['content-type']));
    return {
      status: response.statusCode,
      headers: response.headers,
      bytes: response.rawPayload,
      body: (json ? response.json() : {}) as Body,
    };
  };
  const remove = async (token: string, id: string) => {
    const response = await host.app.inject({
      method: 'DELETE',
      url: `/api/v1/recordings/${id}`,
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: response.statusCode, body: response.json() as Body };
  };
  return {
    store: temp.store,
    audit,
    clock,
    conversations,
    done,
    event,
    files: () => readdir(folder),
    folder,
    get,
    hear,
    host,
    left,
    leg,
    legs,
    recordings: () => recordings,
    remove,
    /** Advances time past one round of tidying. */
    async later(ms: number) {
      const asleep = () => until('the tidying to be over', () => clock.sleepers === 1);
      await asleep();
      await clock.advance(ms);
      await asleep();
      await clock.advance(3_600_000);
      await asleep();
    },
    unlink: (name: string) => unlink(path.join(folder, `${name}.wav`)),
    /** Ends the service during work and starts it again on the same store and folder. */
    async restart() {
      await recordings.close();
      recordings = await open();
    },
    /** The service of another node goes on with the same store, and with the folder of its own machine, or the shared one. */
    async moveTo(node: string) {
      await recordings.close();
      const inside =
        node === 'ast1' || options.shared === true ? folder : path.join(temp.folder, `recordings-${node}`);
      await mkdir(inside, { recursive: true });
      recordings = await open(node, inside);
      event('engine.link_up', { node });
      if (options.shared !== true) await done();
    },
    stopped,
    stored,
    inputs,
    touched,
    trail,
    wav,
    write,
  };
}
