/** A data folder with a large site, written through the features' own tables. */
import { hash } from 'node:crypto';
import path from 'node:path';
import { openSqliteStore } from '../server/src/adapters/sqlite/store.ts';
import { hashPassword } from '../server/src/features/sessions/password.ts';
import { openObjects } from '../server/src/features/pbx-config/objects.ts';
import { putObjects } from '../server/src/features/pbx-config/put.ts';
import { seed } from '../server/src/features/pbx-config/seed.ts';
import { migrations } from '../server/src/features/pbx-config/tables.ts';
import { SessionStore } from '../server/src/features/sessions/store.ts';
import type { SessionTables } from '../server/src/features/sessions/store.ts';
import { FIRST_EXTENSION } from './recording.ts';

export const PASSWORD = 'the same for everybody';
export interface SiteSize {
  readonly extensions: number;
  readonly queues: number;
  readonly agentsPerQueue: number;
  /** Static members instead of dynamic ones. */
  readonly static?: boolean;
  /** Number of open sessions, assigned to the extensions in rotation; their tokens are `tokenOf(0)` on. */
  readonly sessions?: number;
  /** Level of all people, instead of agents and users. */
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

/** Extensions from 100000 on with one password for all; agents are assigned to the queues in rotation. */
export async function fillSite(data: string, size: SiteSize): Promise<void> {
  const store = await openSqliteStore(path.join(data, 'offhook.db'));
  try {
    await store.migrate('pbx-config', migrations);
    await seed(store, { empty: true });
    await SessionStore.open(store);
    const password = await hashPassword(PASSWORD);
    const at = Date.now();
    const agents = Math.min(size.extensions, size.queues * size.agentsPerQueue);
    const people = Array.from({ length: size.extensions }, (_, i) => ({
      extension: extensionOf(i),
      username: `person${i}`,
      name: `Person Nummer ${i}`,
      email: `person${i}@example.com`,
      mobile: `+1202555${String(i).padStart(5, '0')}`,
      department: `Department ${i % 40}`,
      level: size.level ?? (i < agents ? ('agent' as const) : ('user' as const)),
      sip_password: `a-long-sip-password-of-${i}`,
      voicemail_pin: '123456',
    }));
    const queues = Array.from({ length: size.queues }, (_, q) => ({
      name: queueOf(q),
      number: String(5_000 + q),
      title: `Queue ${q}`,
      strategy: 'rrmemory' as const,
      ring_seconds: 15,
      wrap_up_seconds: 5,
      max_wait_seconds: 600,
      members: Array.from({ length: Math.min(size.agentsPerQueue, agents) }, (_, i) => ({
        extension: extensionOf((q * size.agentsPerQueue + i) % agents),
        static: size.static === true,
      })),
    }));
    await putObjects(store, { extension: people, queue: queues });
    const known = (await openObjects(store)).applied().of('extension');
    const ids = people.map((p) => known.get(p.extension)!.id);
    await store.transaction<SessionTables, void>(async (trx) => {
      const everybody = [known.get('1001')!.id, ...ids].map((person_id) => ({
        person_id,
        password,
        changed_at: at,
      }));
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
