import type { TestContext } from 'node:test';
import { CallbackReply, CallbacksReply } from '@offhook/contract/callbacks.ts';
import type { Callback } from '@offhook/contract/callbacks.ts';
import type { Conversation } from '@offhook/contract/conversations.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { createVirtualClock } from '../../src/adapters/memory/virtual-clock.ts';
import { silent } from '../../src/core/log.ts';
import { createAudit } from '../../src/features/audit/service.ts';
import { createCallbacks } from '../../src/features/callbacks/feature.ts';
import type { CallbackFeature } from '../../src/features/callbacks/feature.ts';
import { addOperations } from '../../src/http/operations.ts';
import type { Store } from '../../src/ports/store.ts';
import { temporaryStore } from '../conformance/store-temp.ts';
import { memoryFeed } from './connectors-rig.ts';
import { directoryFixture } from './directory-fixture.ts';
import { authenticatorWithKeys, hostFixture, jsonCaller } from './host-fixture.ts';
import { until } from './until.ts';

export const BEGUN = Date.UTC(2026, 10, 21, 9, 5);
const moment = (s: number): string => new Date(BEGUN + s * 1_000).toISOString();
type Leg = Conversation['legs'][number];
export type Fields = Partial<Conversation>;

const party = (extension: string | null, number: string) => ({
  extension,
  number,
  number_e164: extension === null && number.startsWith('+') ? number : null,
  name: '',
  trunk: extension === null ? 'carrier' : null,
});
/** A leg between two seconds; `talks`: the legs it talks with. */
function leg(
  role: Leg['role'],
  participant: Leg['participant'],
  [from, to]: readonly [number, number],
  talks: readonly string[] = [],
): Leg {
  const times = { started_at: moment(from), ended_at: moment(to), duration: to - from };
  return {
    leg_id: participant.extension ?? 'outside',
    role,
    participant,
    endpoint: null,
    device: null,
    dialled: '',
    ...times,
    answered_at: talks.length > 0 ? moment(from) : null,
    ring_time: 0,
    wait_time: 0,
    talk_time: talks.length > 0 ? to - from : 0,
    hold_time: 0,
    park_time: 0,
    disposition: talks.length > 0 ? 'answered' : 'no_answer',
    cause: null,
    ended_by: null,
    segments:
      talks.length === 0
        ? []
        : [{ state: 'connected', ...times, with: [...talks], held_by: null, queue: null, service: null }],
  };
}
export const ANNA = '+4930901820';
/** Calls as their records; `at`: seconds after `BEGUN`. Each lasts ten seconds. */
export const calls = {
  /** Unanswered call to these extensions. */
  missed: (at: number, extensions: readonly string[], number = ANNA): Fields => ({
    direction: 'in',
    disposition: 'missed',
    started_at: moment(at),
    ended_at: moment(at + 10),
    customer: party(null, number),
    extensions: [...extensions],
    legs: [
      leg('caller', party(null, number), [at, at + 10]),
      ...extensions.map((one) => leg('called', party(one, one), [at, at + 10])),
    ],
  }),
  /** A caller abandons a queue that offered the call to these agents. */
  abandoned: (at: number, queue: string, agents: readonly string[] = ['1003'], number = ANNA): Fields => ({
    ...calls.missed(at, [], number),
    disposition: 'abandoned_in_queue',
    extensions: [...agents],
    queues: [queue],
    legs: [
      leg('caller', party(null, number), [at, at + 10]),
      ...agents.map((one) => leg('offered', party(one, one), [at, at + 10])),
    ],
    queue_visits: [
      {
        queue,
        queue_title: null,
        leg_id: 'outside',
        joined_at: moment(at),
        left_at: moment(at + 10),
        wait_time: 10,
        outcome: 'abandoned',
        agent: null,
        agent_leg: null,
        offers: [],
        wrap_up_time: 0,
      },
    ],
  }),
  /** This extension talks with the number. */
  talk: (at: number, extension: string, direction: 'in' | 'out' = 'out', number = ANNA): Fields => ({
    direction,
    disposition: 'answered',
    started_at: moment(at),
    ended_at: moment(at + 10),
    customer: party(null, number),
    extensions: [extension],
    legs: [
      leg(direction === 'in' ? 'caller' : 'called', party(null, number), [at, at + 10], [extension]),
      leg(direction === 'in' ? 'called' : 'caller', party(extension, extension), [at, at + 10], ['outside']),
    ],
  }),
};

/**
 * Callbacks over a feed in memory, with their operations; tokens sign in as 1001 admin, 1002 supervisor, 1003 agent, 1005
 * user.
 */
export async function callbacksRig(t: TestContext) {
  const temp = await temporaryStore();
  const clock = createVirtualClock(BEGUN + 3_600_000);
  const feed = memoryFeed();
  const directory = directoryFixture();
  const audit = await createAudit(temp.store, clock, silent);
  const events: DomainEvent[] = [];
  const opened: CallbackFeature[] = [];
  const open = async (store: Store = temp.store): Promise<CallbackFeature> => {
    const feature = await createCallbacks({
      store,
      clock,
      feed,
      directory,
      audit,
      log: silent,
      customers: { named: () => Promise.resolve(new Map()) },
      publish: (some) => void events.push(...some),
    });
    opened.push(feature);
    return feature;
  };
  let feature = await open();
  feature.begin();
  const host = await hostFixture({
    authenticator: authenticatorWithKeys({
      reads: { scopes: ['history:read'], queues: ['support'], extensions: [] },
      other: { scopes: ['calls:read'] },
    }),
  });
  addOperations(host.app, [feature.operations]);
  await host.app.ready();
  t.after(async () => {
    await host.close();
    await feature.close();
    await audit.close();
    await temp[Symbol.asyncDispose]();
  });
  const call = jsonCaller(host, '/api/v1/callbacks');
  const page = async (token = 'token-supervisor', query = '') =>
    CallbacksReply.parse((await call('GET', query, undefined, token)).json);
  const list = async (token?: string, query?: string): Promise<Callback[]> =>
    (await page(token, query)).callbacks;
  /** Waits until the feature has read the whole feed. */
  const read = async (): Promise<void> => {
    let before = '';
    await until('the end of the feed', async () => {
      feature.onDomainEvent({ type: 'conversation.finalised' } as DomainEvent);
      await clock.advance(1);
      const reader = await temp.store
        .db<{ callback_reader: { cursor: string | null; behind: number } }>()
        .selectFrom('callback_reader')
        .selectAll()
        .executeTakeFirst();
      const state = JSON.stringify(reader);
      const { more, cursor } = await feed
        .changes(reader?.cursor ?? null)
        .catch(() => ({ more: true, cursor: '' }));
      const done = !more && cursor === (reader?.cursor ?? '') && reader?.behind === 0 && state === before;
      before = state;
      return done;
    });
  };
  const put = async (id: string, fields: Fields): Promise<void> => {
    feed.put(id, fields);
    await read();
  };
  const act = async (id: number, what: 'take' | 'release' | 'close', token?: string, body?: object) => {
    const reply = await call('POST', `/${id}/${what}`, body, token);
    return reply.status === 200 ? CallbackReply.parse(reply.json).callback : reply.json.code;
  };
  /** Ends the feature and opens it again, optionally on another store. */
  const reopen = async (store?: Store): Promise<CallbackFeature> => {
    feature = await open(store);
    feature.begin();
    return feature;
  };
  return {
    temp,
    clock,
    feed,
    directory,
    audit,
    events,
    call,
    page,
    list,
    read,
    put,
    act,
    reopen,
    feature: () => feature,
  };
}
