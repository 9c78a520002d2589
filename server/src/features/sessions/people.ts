import type { PeopleQuery, SignInPerson } from '@offhook/contract/people.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import { fold } from '@offhook/contract/search.ts';
import { pageOf } from '../../core/page.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory, Person } from '../../ports/directory.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Otp } from './otp.ts';
import type { DeviceRow } from './service.ts';
import type { SessionStore } from './store.ts';

const PAGE = 100;

/** Sign-ins of other persons, for administrators. Each throws `not_found` for an unknown extension. */
export interface SignIns {
  page(query: PeopleQuery): Promise<{ people: SignInPerson[]; total: number; next_cursor: string | null }>;
  one(extension: string): Promise<SignInPerson>;
  sessions(extension: string): Promise<DeviceRow[]>;
  /** Ends one session, or all; resolves with their number. Throws `not_found` for a session that is not live. */
  end(actor: Actor, extension: string, session: number | null): Promise<number>;
  /**
   * Switches the second factor off for a person who lost the authenticator and the recovery codes. Throws `forbidden`
   * for the caller's own, which needs a proof.
   */
  disableOtp(actor: Actor, extension: string): Promise<void>;
}

const byExtension = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);

export function createSignIns(deps: {
  readonly store: SessionStore;
  readonly otp: Otp;
  readonly directory: Directory;
  readonly audit: Required<Audit>;
  readonly clock: Clock;
  readonly idleMs: number;
  readonly devices: (personId: number) => Promise<DeviceRow[]>;
  /** Closes the sockets of ended sessions. */
  readonly ended: (ids: readonly number[], reason: 'ended') => void;
}): SignIns {
  const { store, otp, directory, audit, clock, idleMs } = deps;
  const find = (extension: string): Person => {
    const who = directory.byExtension(extension);
    if (who === undefined) throw new ServiceError('not_found', say`no person has the extension ${extension}`);
    return who;
  };
  const line = (
    actor: Actor,
    action: string,
    who: Person,
    detail: AuditEntry['detail'] = {},
  ): AuditEntry => ({
    action,
    actor: actor.caller.extension,
    object: who.extension,
    outcome: 'ok',
    ip: actor.ip,
    detail,
  });
  async function shown(people: readonly Person[]): Promise<SignInPerson[]> {
    const ids = people.map((p) => p.id);
    const now = clock.now();
    const [known, second] = [await store.signIns(ids, now, now - idleMs), await otp.onFor(ids)];
    return people.map(({ id, extension, username, name, level, active }) => {
      const { live = 0, last = null } = known.get(id) ?? {};
      return {
        extension,
        username,
        name,
        level,
        active,
        second_factor: second.has(id),
        sessions: live,
        last_sign_in: last === null ? null : rfc3339(last),
      };
    });
  }
  return {
    one: async (extension) => (await shown([find(extension)]))[0]!,
    async page({ q = '', limit = PAGE, cursor }) {
      const words = fold(q).split(' ');
      const found = directory
        .people()
        .filter(({ name, username, extension }) => {
          const text = fold(`${extension} ${username} ${name}`);
          return words.every((word) => text.includes(word));
        })
        .toSorted((a, b) => byExtension(a.extension, b.extension));
      const rest = cursor === undefined ? found : found.filter((p) => byExtension(p.extension, cursor) > 0);
      const { page, next_cursor } = pageOf(rest, limit, (p) => p.extension);
      return {
        people: await shown(page),
        total: found.length,
        next_cursor,
      };
    },
    sessions: async (extension) => deps.devices(find(extension).id),
    async end(actor, extension, session) {
      const who = find(extension);
      const which = session === null ? { person_id: who.id } : { person_id: who.id, id: session };
      const ids = await store.end(which, 'ended', clock.now(), async (trx, all) => {
        for (const { id } of all) {
          await audit.recordIn(trx, line(actor, 'session.ended', who, { session: id }));
        }
      });
      if (session !== null && ids.length === 0) {
        throw new ServiceError('not_found', say`${extension} has no such session`);
      }
      deps.ended(ids, 'ended');
      return ids.length;
    },
    async disableOtp(actor, extension) {
      const who = find(extension);
      if (who.id === actor.caller.person_id) {
        throw new ServiceError(
          'forbidden',
          'switch your own second factor off by POST /api/v1/session/otp/disable with your password',
        );
      }
      await otp.disable(who.id, (trx) => audit.recordIn(trx, line(actor, 'session.otp_off', who)));
    },
  };
}
