import { randomBytes, randomInt } from 'node:crypto';
import type { Transaction } from 'kysely';
import type { EndpointKind } from '../../ports/directory.ts';
import type { Store } from '../../ports/store.ts';
import { DEMO_ADMINISTRATOR, DEMO_PEOPLE, DEMO_QUEUES, DEMO_REASONS, PARKING, SERVICES } from './demo.ts';
import type { DemoPerson } from './demo.ts';
import type { Tables } from './tables.ts';

/** 192 random bits, letters and digits only with `-` and `_`: what phones and configuration files carry unharmed. */
export const newSipPassword = (): string => randomBytes(24).toString('base64url');
export const newVoicemailPin = (): string => String(randomInt(0, 1_000_000)).padStart(6, '0');

const SUFFIX: Readonly<Record<EndpointKind, string>> = { sip: '', webrtc: '-web', mobile: '-mobile' };

async function addPerson(trx: Transaction<Tables>, id: number, person: DemoPerson): Promise<void> {
  await trx
    .insertInto('people')
    .values({
      ...person,
      id,
      email: `${person.username}@example.com`,
      active: 1,
      sip_password: newSipPassword(),
      voicemail: 1,
      voicemail_pin: newVoicemailPin(),
    })
    .execute();
  const kinds = Object.entries(SUFFIX) as [EndpointKind, string][];
  await trx
    .insertInto('endpoints')
    .values(kinds.map(([kind, suffix]) => ({ name: person.extension + suffix, person_id: id, kind })))
    .execute();
}
async function addQueues(trx: Transaction<Tables>): Promise<void> {
  const ids = new Map(DEMO_PEOPLE.map((p, i) => [p.extension, i + 1]));
  for (const [i, { agents, ...queue }] of DEMO_QUEUES.entries()) {
    await trx
      .insertInto('queues')
      .values({ ...queue, id: i + 1 })
      .execute();
    await trx
      .insertInto('queue_agents')
      .values(agents.map((e) => ({ queue_id: i + 1, person_id: ids.get(e)!, static: 0 })))
      .execute();
  }
}

/**
 * Fills an empty site with the demo company, or with `empty` only one administrator at extension 1001; the numbers of the
 * exchange itself (echo, music, voicemail, parking) and the pause reasons come with both. A site that has people is left
 * as it is. All or nothing; returns whether anything was written.
 */
export async function seed(store: Store, options: { readonly empty: boolean }): Promise<boolean> {
  return await store.transaction<Tables, boolean>(async (trx) => {
    const any = await trx.selectFrom('people').select('id').limit(1).executeTakeFirst();
    if (any !== undefined) return false;
    const people = options.empty ? [DEMO_ADMINISTRATOR] : DEMO_PEOPLE;
    for (const [i, person] of people.entries()) await addPerson(trx, i + 1, person);
    if (!options.empty) await addQueues(trx);
    await trx
      .insertInto('pause_reasons')
      .values(
        DEMO_REASONS.map((reason, position) => ({
          ...reason,
          position,
          paid: Number(reason.paid),
          supervisor_only: Number(reason.supervisor_only),
        })),
      )
      .execute();
    await trx
      .insertInto('services')
      .values([...SERVICES])
      .execute();
    await trx
      .insertInto('pbx_settings')
      .values({ key: 'parking', value: JSON.stringify(PARKING) })
      .execute();
    return true;
  });
}
