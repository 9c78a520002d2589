/** Steps shared by scenarios: expected states of persons, phones and engine. */
import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import type { HistoryCall } from '@offhook/contract/history.ts';
import type { Person } from './api.ts';
import type { IncomingCall, Phone, PhoneCall } from './phone.ts';
import type { Site } from './site.ts';
import { until } from './until.ts';

type Status = 'online' | 'busy' | 'offline';
/**
 * The contact of `extension`, as read by `reader`, has this status and one of these activities. No measure of speed: the
 * bench measures the time of a pause.
 */
export async function shows(
  reader: Person,
  extension: string,
  status: Status,
  ...activities: string[]
): Promise<void> {
  let last: object = {};
  await until(
    `contact ${extension} is ${status} (${activities.join(' or ')})`,
    async () => {
      const contact = await reader.contact(extension);
      last = contact;
      return contact.status === status && activities.includes(contact.presence.activity);
    },
    { seen: () => last },
  );
}

/** get_status has this key; null is any key, because a call hides a pause. */
export async function statusIs(person: Person, key: string | null, reason = ''): Promise<void> {
  let last: object = {};
  await until(
    `get_status of ${person.extension} is ${key ?? 'anything'} (${reason})`,
    async () => {
      const reply = await person.agent('get_status');
      last = reply;
      const paused = reply.pause_reason === reason && reply.is_paused === (reason !== '');
      return paused && (key === null || reply.status_key === key);
    },
    { seen: () => last },
  );
}

/** The engine's line for one member of one queue. */
export async function memberLine(site: Site, queue: string, extension: string): Promise<string | undefined> {
  const shown = await site.engineCli(`queue show ${queue}`);
  return shown.split('\n').find((line) => line.includes(`Local/${extension}@`));
}
export async function inEngine(site: Site, queue: string, extension: string, pattern: RegExp): Promise<void> {
  const line = (await memberLine(site, queue, extension)) ?? 'not a member';
  assert.match(line, pattern, `${extension} in ${queue}`);
}

/** The same, as soon as the engine has it: what the service or a phone shows may come before. */
export async function comesInEngine(
  site: Site,
  queue: string,
  extension: string,
  pattern: RegExp,
): Promise<void> {
  let line = '';
  await until(
    `${extension} in ${queue} is ${String(pattern)}`,
    async () => pattern.test((line = (await memberLine(site, queue, extension)) ?? 'not a member')),
    { every: 100, seen: () => ({ line }) },
  );
}

/** One phone calls another, which answers; resolves once both are joined: a call that ends before has no talk. */
export async function talk(from: Phone, to: Phone): Promise<[PhoneCall, IncomingCall]> {
  const call = await from.invite(to.extension);
  const incoming = await to.incoming(call);
  incoming.ring();
  await incoming.answer();
  await call.answered();
  await call.bridged();
  return [call, incoming];
}

/** Dials a feature code and hears its sound to the end. */
export async function dialCode(phone: Phone, code: string): Promise<void> {
  const call = await phone.invite(code);
  await call.answered();
  await call.hears(10);
  await call.ended();
}

/** Finished conversations of a person, newest first, once there are `count`; more fail. */
export async function finishedCalls(person: Person, count: number): Promise<HistoryCall[]> {
  let last: object = {};
  const calls = await until(
    `${count} finished calls in the history of ${person.extension}`,
    async () => {
      const reply = await person.history();
      last = reply.calls;
      return reply.calls.length >= count && reply.calls.every((c) => c.ended_at !== null) && reply.calls;
    },
    { every: 50, seen: () => ({ calls: last }) },
  );
  assert.equal(calls.length, count, `${person.extension} has one row for each of its ${count} conversations`);
  return calls;
}
export const onlyCall = async (person: Person): Promise<HistoryCall> => (await finishedCalls(person, 1))[0]!;

/** The main fields of a row. */
export const gist = (call: HistoryCall): string =>
  [call.direction, call.party, call.disposition, call.queue ?? '-'].join(' ');

/** Stops a process; resolves once all its threads are stopped, because a running one still answers after the signal. */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const isStopped = async (thread: string): Promise<boolean> =>
    / T /.test(await readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8').catch(() => ' T '));
  await until(`every thread of ${pid} to stop`, async () => {
    const threads = await readdir(`/proc/${pid}/task`);
    return (await Promise.all(threads.map(isStopped))).every(Boolean);
  });
}
