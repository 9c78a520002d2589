import type { TestContext } from 'node:test';
import type { Connector, ConnectorEntry } from '@offhook/contract/connectors.ts';
import {
  Connectors as ConnectorsReply,
  ConnectorEntries,
  ConnectorReply,
} from '@offhook/contract/connectors.ts';
import type { Conversation } from '@offhook/contract/conversations.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { createVirtualClock } from '../../src/adapters/memory/virtual-clock.ts';
import { ServiceError } from '../../src/core/errors.ts';
import { silent } from '../../src/core/log.ts';
import { createAudit } from '../../src/features/audit/service.ts';
import { createConnectors } from '../../src/features/connectors/feature.ts';
import type { ConnectorsOptions } from '../../src/features/connectors/feature.ts';
import { connectorOperations } from '../../src/features/connectors/operations.ts';
import { phonebookOperations } from '../../src/features/phonebook/operations.ts';
import { createPhonebook } from '../../src/features/phonebook/service.ts';
import { addOperations } from '../../src/http/operations.ts';
import { createGuard } from '../../src/outbound/address-guard.ts';
import type { RecordingAudio } from '../../src/ports/recordings.ts';
import { temporaryStore } from '../conformance/store-temp.ts';
import { crmFile, startCrm } from './crm.ts';
import { directoryFixture } from './directory-fixture.ts';
import { authenticatorWithKeys, hostFixture, jsonCaller } from './host-fixture.ts';
import { until } from './until.ts';

const STARTED = Date.UTC(2026, 10, 21, 9, 5);
/** A finished conversation of this customer's number with 1003. */
export function conversationFixture(id: string, fields: Partial<Conversation> = {}): Conversation {
  const moment = (s: number): string => new Date(STARTED + s * 1_000).toISOString();
  const none = { extension: null, number: '', number_e164: null, name: '', trunk: null };
  const customer = {
    ...none,
    number: '030901820',
    number_e164: '+4930901820',
    name: 'Anna',
    trunk: 'carrier',
  };
  return {
    id,
    merged_from: [],
    state: 'final',
    revision: 1,
    change: 0,
    built_by: 1,
    observed: 'call_records',
    direction: 'in',
    disposition: 'answered',
    cause: 16,
    ended_by: 'caller',
    started_at: moment(0),
    answered_at: moment(5),
    ended_at: moment(65),
    duration: 65,
    ring_time: 5,
    wait_time: 0,
    talk_time: 60,
    hold_time: 0,
    park_time: 0,
    talk_seconds: 60,
    wrap_up_time: 0,
    billable: 60,
    dialled: '500',
    dialled_e164: null,
    caller: customer,
    parties: [customer],
    answered_by: null,
    customer,
    customer_disposition: null,
    extensions: ['1003'],
    queues: [],
    queue_titles: [],
    agents: ['1003'],
    has_recording: false,
    outcome: null,
    erased: false,
    legs: [],
    transfers: [],
    queue_visits: [],
    recordings: [],
    notes: [],
    quality: [],
    timeline: [],
    ...fields,
  };
}

/** A stored recording of one minute. */
export const recordingFixture = (
  id: string,
  fields: Partial<Conversation['recordings'][number]> = {},
): Conversation['recordings'][number] => ({
  id,
  leg_id: null,
  started_at: new Date(STARTED + 5_000).toISOString(),
  ended_at: new Date(STARTED + 65_000).toISOString(),
  duration: 60,
  paused: [],
  by: 'queue',
  state: 'stored',
  bytes: 1_000,
  ...fields,
});

/** The feed of changes of conversations, in memory. */
export function memoryFeed() {
  let epoch = 'e1';
  let newest = 0;
  const changes = new Map<
    string,
    { change: number; conversation: Conversation | null; into: string | null }
  >();
  return {
    /** Runs before the next reads of a conversation and of the feed. */
    before: (): Promise<void> => Promise.resolve(),
    put(id: string, fields: Partial<Conversation> = {}): void {
      newest += 1;
      const known = changes.get(id)?.conversation ?? conversationFixture(id);
      changes.set(id, { change: newest, into: null, conversation: { ...known, ...fields, change: newest } });
    },
    merge(id: string, into: string): void {
      newest += 1;
      changes.set(id, { change: newest, conversation: null, into });
    },
    /** As after a restore of a copy without the conversation. */
    forget: (id: string) => changes.delete(id),
    /** As after a restore of an older copy. */
    lose: () => (epoch += 'x'),
    async changes(cursor: string | null) {
      await this.before();
      const [of, at] = (cursor ?? `${epoch}:0`).split(':');
      if (of !== epoch) throw new ServiceError('position_unknown', 'cursor: belongs to another epoch');
      const page = [...changes]
        .filter(([, { change }]) => change > Number(at))
        .toSorted(([, a], [, b]) => a.change - b.change)
        .slice(0, 3);
      const last = page.at(-1)?.[1].change ?? Number(at);
      return {
        changes: page.map(([id, { change, conversation, into }]) => ({
          change,
          id,
          merged_into: into,
          conversation,
        })),
        cursor: `${epoch}:${last}`,
        more: last < newest,
      };
    },
    async one(id: string): Promise<Conversation | null> {
      await this.before();
      const found = changes.get(id);
      return found?.into == null
        ? (found?.conversation ?? null)
        : (changes.get(found.into)?.conversation ?? null);
    },
  };
}

/** Audio of recordings in memory. */
export const memoryAudio = (files: ReadonlyMap<string, Buffer>): RecordingAudio => ({
  open(id) {
    const file = files.get(id);
    if (file === undefined) return Promise.resolve(null);
    return Promise.resolve({
      bytes: file.length,
      async *read() {
        for (let at = 0; at < file.length; at += 65_536) yield file.subarray(at, at + 65_536);
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  },
});

/** Connectors over a feed in memory, a database of their own, the virtual clock and a small CRM on the loopback. */
export async function connectorsRig(t: TestContext, more: Partial<ConnectorsOptions> = {}) {
  const temp = await temporaryStore();
  const crm = await startCrm();
  // No limit of a request passes while its answer is on its way, however busy the machine is.
  const clock = createVirtualClock(STARTED, () => crm.idle());
  const feed = memoryFeed();
  const directory = directoryFixture();
  const audit = await createAudit(temp.store, clock, silent);
  const events: DomainEvent[] = [];
  const phonebook = await createPhonebook({
    store: temp.store,
    clock,
    directory,
    audit,
    log: silent,
    publish: (some) => {
      events.push(...some);
      hear.each(some);
    },
    country: 'DE',
  });
  /** Receives the events of the phonebook. */
  const hear = { each: (_some: readonly DomainEvent[]): void => undefined };
  /** Bytes of stored recordings by id. */
  const audio = new Map<string, Buffer>();
  /** Operations caused by messages of the systems. */
  const verbs: unknown[][] = [];
  const open = async (options: Partial<ConnectorsOptions> = {}) => {
    const opened = await createConnectors({
      store: temp.store,
      clock,
      audit,
      log: silent,
      directory,
      feed,
      audio: memoryAudio(audio),
      customers: phonebook.sources,
      verbs: {
        call: async (...what) => void verbs.push(['call', ...what]),
        note: async (...what) => void verbs.push(['note', ...what]),
        reject: async (...what) => verbs.push(['reject', ...what]) > 0,
      },
      guard: createGuard(['127.0.0.1']),
      folders: { release: temp.folder, own: temp.folder },
      publicUrl: 'https://pbx.example/',
      country: 'DE',
      chance: () => 0.5,
      ...more,
      ...options,
    });
    await opened.begin();
    return opened;
  };
  let connectors = await open();
  const host = await hostFixture({
    authenticator: authenticatorWithKeys({ reads: { scopes: ['history:read'] } }),
  });
  const service = new Proxy({} as typeof connectors.service, {
    get: (_none, name: keyof typeof connectors.service) => {
      const member: unknown = connectors.service[name];
      return typeof member === 'function' ? member.bind(connectors.service) : member;
    },
  });
  addOperations(host.app, [
    connectorOperations(service),
    phonebookOperations(phonebook, host.app, { authenticate: () => null }),
  ]);
  await host.app.ready();
  t.after(async () => {
    await connectors.close();
    await host.close();
    await audit.close();
    await crm[Symbol.asyncDispose]();
    await temp[Symbol.asyncDispose]();
  });
  const call = jsonCaller(host, '/api/v1/');
  return {
    clock,
    crm,
    audio,
    verbs,
    host,
    feed,
    directory,
    audit,
    temp,
    call,
    phonebook,
    events,
    hear,
    get connectors() {
      return connectors;
    },
    async create(once: 'find' | 'ledger' = 'find', fields: object = {}): Promise<Connector> {
      const settings = { address: crm.url, token: 'geheim-4711' };
      const body = { source: crmFile(once), settings, from: new Date(STARTED).toISOString(), ...fields };
      const reply = await call('POST', 'connectors', body, 'token-admin');
      if (reply.status !== 201) throw new Error(JSON.stringify(reply.json));
      return ConnectorReply.parse(reply.json).connector;
    },
    async list(): Promise<Connector[]> {
      return ConnectorsReply.parse((await call('GET', 'connectors', undefined, 'token-admin')).json)
        .connectors;
    },
    async entries(query = ''): Promise<ConnectorEntry[]> {
      return ConnectorEntries.parse((await call('GET', `connectors/1/entries${query}`)).json).entries;
    },
    /** Advances the clock until the entries of these conversations have this state. */
    async stands(state: string, ...conversations: string[]): Promise<void> {
      connectors.service.wake();
      await until(`${conversations.join(', ')} ${state}`, async () => {
        await clock.advance(1_000);
        const all = await this.entries('?limit=200');
        return conversations.every((id) => all.find((e) => e.conversation_id === id)?.state === state);
      });
    },
    open,
    /** Restarts the connectors. */
    async restart(options: Partial<ConnectorsOptions> = {}): Promise<void> {
      await connectors.close();
      connectors = await open(options);
    },
    replace(next: typeof connectors): void {
      connectors = next;
    },
  };
}
