/** A data folder with a big site in it, written through the features' own tables. */
import { hash } from 'node:crypto';
import path from 'node:path';
import { openSqliteStore } from '../server/src/adapters/sqlite/store.ts';
import { hashPassword } from '../server/src/core/password.ts';
import { seed } from '../server/src/features/pbx-config/seed.ts';
import { migrations } from '../server/src/features/pbx-config/tables.ts';
import type { Tables } from '../server/src/features/pbx-config/tables.ts';
import { createSessionStore } from '../server/src/features/sessions/store.ts';
import type { SessionTables } from '../server/src/features/sessions/store.ts';
import { FIRST_EXTENSION } from './recording.ts';

export const PASSWORD = 'the same for everybody';
export interface SiteSize {
  readonly extensions: number;
  readonly queues: number;
  readonly agentsPerQueue: number;
  /** Members by configuration instead of ones that log in. */
  readonly static?: boolean;
  /** Sessions that are open already, dealt out to the extensions in turn; their tokens are `tokenOf(0)` on. */
  readonly sessions?: number;
  /** Everybody's level, where it is not that of agents and users. */
  readonly level?: 'supervisor';
}
/** The token of the n-th open session. */
export const tokenOf = (n: number): string => hash('sha256', `session ${n}`, 'base64url');
const DAY_MS = 86_400_000;
export const extensionOf = (i: number): string => String(FIRST_EXTENSION + i);
export const queueOf = (i: number): string => `queue${i}`;
const MOST_ROWS = 1_000;
function* slices<T>(rows: readonly T[]): Generator<T[]> {
  for (let at = 0; at < rows.length; at += MOST_ROWS) yield rows.slice(at, at + MOST_ROWS);
}

/** Extensions 100000 on with one password for all; agents are dealt out to the queues in turn. */
export async function fillSite(data: string, size: SiteSize): Promise<void> {
  const store = await openSqliteStore(path.join(data, 'offhook.db'));
  try {
    await store.migrate('pbx-config', migrations);
    await seed(store, { empty: true });
    await createSessionStore(store);
    const password = await hashPassword(PASSWORD);
    const at = Date.now();
    const ids = Array.from({ length: size.extensions }, (_, i) => i + 2);
    const agents = Math.min(size.extensions, size.queues * size.agentsPerQueue);
    const people = ids.map((id, i) => ({
      id,
      extension: extensionOf(i),
      username: `person${i}`,
      name: `Person Nummer ${i}`,
      email: `person${i}@example.com`,
      mobile: `+1202555${String(i).padStart(5, '0')}`,
      department: `Department ${i % 40}`,
      level: size.level ?? (i < agents ? ('agent' as const) : ('user' as const)),
      active: 1,
      sip_password: `a-long-sip-password-of-${i}`,
      voicemail: 1,
      voicemail_pin: '123456',
    }));
    const endpoints = people.flatMap(({ id, extension }) => [
      { name: extension, person_id: id, kind: 'sip' as const },
      { name: `${extension}-web`, person_id: id, kind: 'webrtc' as const },
      { name: `${extension}-mobile`, person_id: id, kind: 'mobile' as const },
    ]);
    const queues = Array.from({ length: size.queues }, (_, i) => ({
      id: i + 1,
      name: queueOf(i),
      number: String(5_000 + i),
      title: `Queue ${i}`,
      strategy: 'rrmemory' as const,
      ring_seconds: 15,
      wrap_up_seconds: 5,
      max_wait_seconds: 600,
    }));
    const members = queues.flatMap(({ id }, q) =>
      Array.from({ length: Math.min(size.agentsPerQueue, agents) }, (_, i) => ({
        queue_id: id,
        person_id: ids[(q * size.agentsPerQueue + i) % agents]!,
        static: size.static === true ? 1 : 0,
      })),
    );
    await store.transaction<Tables & SessionTables, void>(async (trx) => {
      for (const rows of slices(people)) await trx.insertInto('people').values(rows).execute();
      for (const rows of slices(endpoints)) await trx.insertInto('endpoints').values(rows).execute();
      for (const rows of slices(queues)) await trx.insertInto('queues').values(rows).execute();
      for (const rows of slices(members)) await trx.insertInto('queue_agents').values(rows).execute();
      // The administrator of the empty site has number 1.
      const everybody = [1, ...ids].map((person_id) => ({ person_id, password, changed_at: at }));
      for (const rows of slices(everybody)) await trx.insertInto('credentials').values(rows).execute();
      const sessions = Array.from({ length: size.sessions ?? 0 }, (_, n) => ({
        id: n + 1,
        person_id: ids[n % ids.length]!,
        created_at: at,
        last_used_at: at,
        ends_at: at + DAY_MS,
        ended_at: null,
        ended_by: null,
        device_name: null,
        platform: null,
      }));
      const tokens = sessions.map(({ id }, n) => ({
        hash: hash('sha256', tokenOf(n), 'base64url'),
        session_id: id,
        parent: null,
        confirmed: 1,
        created_at: at,
        retired_at: null,
      }));
      for (const rows of slices(sessions)) await trx.insertInto('sessions').values(rows).execute();
      for (const rows of slices(tokens)) await trx.insertInto('session_tokens').values(rows).execute();
    });
  } finally {
    await store.close();
  }
}
