import type { Audit, AuditEntry } from '../../src/ports/audit.ts';
import type { RecordingIndex } from '../../src/ports/conversations.ts';
import type { Customers } from '../../src/ports/customers.ts';
import type { KeyRights } from '../../src/rights/rights.ts';
import { writeConversations } from '../../src/features/history/ingest/conversation-rows.ts';
import { createNotes, createQuality } from '../../src/features/history/query/annotate.ts';
import { conversationOperations, qualityOperations } from '../../src/features/history/operations.ts';
import { createConversationReader } from '../../src/features/history/query/service.ts';
import type { ConversationRecord } from '../../src/features/history/record/record.ts';
import { insertAll } from '../../src/features/history/store/store.ts';
import type { Tables } from '../../src/features/history/store/tables.ts';
import { addOperations } from '../../src/http/operations.ts';
import type { Commands } from '../../src/ports/operations.ts';
import { authenticatorWithKeys, hostFixture } from './host-fixture.ts';
import { historyScene } from './history-scene.ts';
import type { HistoryScene } from './history-scene.ts';
import { manualClock } from './sessions-fixture.ts';
import type { ManualClock } from './sessions-fixture.ts';

/** An index without recordings. */
export const noRecordings: RecordingIndex = {
  ofCalls: () => Promise.resolve(new Map()),
  withRecording: () => Promise.resolve(new Set()),
  erase: () => Promise.resolve({ erased: 0, bytes: 0 }),
};
/** An empty phonebook. */
export const noCustomers: Customers = { named: () => Promise.resolve(new Map()) };
export const forgetfulAudit: Audit = { record: () => Promise.resolve() };

/** An index with one recording for each of these calls. */
export const recordingsOf = (calls: ReadonlySet<string>): RecordingIndex => ({
  ofCalls: (some) =>
    Promise.resolve(
      new Map(
        some
          .filter((call) => calls.has(call))
          .map((call) => [
            call,
            [
              {
                id: `r-${call}`,
                leg_id: null,
                started_at: '2026-11-21T09:00:00.000Z',
                ended_at: '2026-11-21T09:00:01.000Z',
                duration: 1,
                paused: [],
                by: 'extension' as const,
                state: 'stored' as const,
                bytes: 1_000,
              },
            ],
          ]),
      ),
    ),
  withRecording: (some) => Promise.resolve(new Set(some.filter((call) => calls.has(call)))),
  erase: () => Promise.resolve({ erased: 0, bytes: 0 }),
});

export interface Answer {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read what the contract's schemas have checked
  readonly body: any;
}
export interface ConversationsRig extends AsyncDisposable {
  readonly scene: HistoryScene;
  readonly clock: ManualClock;
  readonly commands: Commands;
  readonly audit: readonly AuditEntry[];
  /** Calls that have a recording. */
  readonly recorded: Set<string>;
  /** Writes conversations as ingestion does, finished by default; `merged` became part of others. */
  put(records: readonly ConversationRecord[], merged?: readonly string[]): Promise<void>;
  /** `who` is a level, or `key-<name>`. */
  get(path: string, who?: string): Promise<Answer>;
  send(method: 'POST' | 'DELETE', path: string, body?: object, who?: string): Promise<Answer>;
}

/** Routes and operations of conversations over a new store; 1001 is an administrator, 1005 a user. */
export async function conversationsRig(
  keys: Readonly<Record<string, Partial<KeyRights>>> = {},
  customers: Customers = noCustomers,
): Promise<ConversationsRig> {
  const scene = await historyScene();
  const { store } = scene;
  const clock = manualClock();
  const trail: AuditEntry[] = [];
  const audit: Audit = {
    record(entry) {
      trail.push(entry);
      return Promise.resolve();
    },
  };
  const recorded = new Set<string>();
  const recordings = recordingsOf(recorded);
  const host = await hostFixture({ authenticator: authenticatorWithKeys(keys), clock });
  const cursor_key = async () => Buffer.alloc(32, 7);
  const commands = addOperations(host.app, [
    conversationOperations({
      conversations: createConversationReader({
        store,
        recordings,
        directory: scene.directory,
        cursor_key,
        country: 'DE',
        feedEpoch: 'e1',
      }),
      notes: createNotes({ store, audit, clock }),
      customers,
    }),
    qualityOperations(createQuality({ store, clock })),
  ]);
  await host.app.ready();
  const headers = (who: string) => ({
    authorization: `Bearer ${who.startsWith('key-') ? who : `token-${who}`}`,
  });
  return {
    scene,
    clock,
    commands,
    audit: trail,
    recorded,
    put: (records, merged = []) =>
      store.transaction<Tables, void>(async (db) => {
        const roots = new Map(
          records.flatMap((r) => [r.id, ...r.merged_from].map((call) => [call, r.id] as const)),
        );
        const calls = [...roots].map(([call, root]) => ({ call, root }));
        await insertAll(calls, (some) =>
          db
            .insertInto('history_calls')
            .values(some)
            .onConflict((c) => c.column('call').doUpdateSet((e) => ({ root: e.ref('excluded.root') })))
            .execute(),
        );
        const stored = records.map((record) => ({ root: record.id, record, over: record.complete }));
        await writeConversations(db, stored, merged);
      }),
    async get(path, who = 'admin') {
      const reply = await host.app.inject({ url: path, headers: headers(who) });
      return { status: reply.statusCode, body: reply.json() };
    },
    async send(method, path, body, who = 'admin') {
      const reply = await host.app.inject({
        method,
        url: path,
        headers: headers(who),
        ...(body === undefined ? {} : { payload: body }),
      });
      return { status: reply.statusCode, body: reply.json() };
    },
    async [Symbol.asyncDispose]() {
      await host.close();
      await scene[Symbol.asyncDispose]();
    },
  };
}
