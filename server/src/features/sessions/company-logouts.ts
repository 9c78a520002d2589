/** Logouts of the company's provider: which sessions they end (docs/adr/0047). */
import { ServiceError } from '../../core/errors.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Common } from '../../ports/common.ts';
import type { Person } from '../../ports/directory.ts';
import { SessionStore } from './store.ts';
import type { CompanyLogout } from './store.ts';

/** `jti`: number of the token, which would be accepted again until `until` (ms since 1970). */
export type ProviderLogout = CompanyLogout & { readonly jti: string; readonly until: number };
export const refusedLogout = (): ServiceError =>
  new ServiceError(
    'invalid_request',
    'logout_token: not a logout token of the provider for this site, expired, or received before',
  );

export interface CompanyLogouts {
  /** Ends the sessions of a logout; `invalid_request` for one that was carried out before. Throws `store_unavailable`. */
  end(logout: ProviderLogout, ip: string): Promise<void>;
}
export function createCompanyLogouts(
  deps: Common<'clock'> & {
    readonly store: SessionStore;
    readonly audit: Required<Audit>;
    readonly person: (id: number) => Person | undefined;
    /** Closes the sockets of ended sessions. */
    readonly ended: (ids: readonly number[]) => void;
  },
): CompanyLogouts {
  const { store, audit, clock, person } = deps;
  return {
    async end({ jti, until, ...company }, ip) {
      const now = clock.now();
      const ids = await store.end({ company }, 'company_logout', now, async (trx, all) => {
        if (!(await SessionStore.keepLogout(trx, jti, now, until))) throw refusedLogout();
        for (const { id, person_id } of all)
          await audit.recordIn(trx, {
            action: 'session.ended',
            actor: null,
            object: person(person_id)?.extension ?? null,
            outcome: 'ok',
            ip,
            detail: { session: id, by: 'company' },
          });
      });
      deps.ended(ids);
    },
  };
}
