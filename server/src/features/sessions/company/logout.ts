/** The logout tokens that the company's provider sends: OpenID Connect Back-Channel Logout 1.0 (docs/adr/0047). */
import { company as operations } from '@offhook/contract/operations/session.ts';
import { ServiceError, hasCode } from '../../../core/errors.ts';
import { networkOf } from '../../../core/networks.ts';
import { Queue } from '../../../core/queue.ts';
import { createRateLimit } from '../../../core/rate-limit.ts';
import type { Common } from '../../../ports/common.ts';
import type { Served } from '../../../ports/operations.ts';
import { refusedLogout } from '../company-logouts.ts';
import type { CompanyLogouts } from '../company-logouts.ts';
import { reasonOf } from './failures.ts';
import type { OpenIdProvider } from './provider.ts';

/** Tokens that are checked at once, and refused tokens of one network (/24, /56): a provider ends many sessions in a moment. */
const AT_ONCE = 200;
const REFUSED_OF_NETWORK = { burst: 30, per_second: 0.5 };
/** `provider`: null at a site without one. */
export function companyOperations({
  clock,
  log,
  provider,
  logouts,
}: Common<'clock' | 'log'> & {
  readonly provider: Pick<OpenIdProvider, 'logout'> | null;
  readonly logouts: CompanyLogouts;
}): Served<typeof operations> {
  const failures = createRateLimit(clock, REFUSED_OF_NETWORK);
  const checks = new Queue({
    places: AT_ONCE,
    most_waiting: 0,
    refusal: () => new ServiceError('overloaded', 'too many logouts at once; try again shortly'),
  });
  async function carryOut(from: Pick<OpenIdProvider, 'logout'>, token: string, ip: string): Promise<void> {
    const network = networkOf(ip);
    if (failures.left(network).remaining < 1)
      throw new ServiceError('too_many_requests', 'too many refused logouts; wait a moment', {
        retry_after_seconds: 2,
      });
    await checks.run(async () => {
      try {
        await logouts.end(await from.logout(token), ip);
      } catch (error) {
        if (hasCode(error, 'store_unavailable')) throw error;
        failures.allows(network);
        log.warn({ error: reasonOf(error), ip }, 'a logout of the company was refused');
        throw refusedLogout();
      }
    });
  }
  return {
    operations,
    handlers: {
      async logout({ request }, { body: { logout_token: token } }) {
        if (provider === null)
          throw new ServiceError('not_found', 'this site has no sign-in with the company account');
        await carryOut(provider, token, request.ip);
      },
    },
  };
}
