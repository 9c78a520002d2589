import { pathCheck as operations } from '@offhook/contract/operations/path-check.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Served } from '../../ports/operations.ts';
import type { PathProbe } from '../../ports/paths.ts';
import { browserPassword } from './phone.ts';
import type { PathChecks } from './service.ts';

export interface PathCheckParts {
  readonly checks: PathChecks;
  readonly probe: PathProbe | null;
  /** Password of the doctor's accounts at the engine. */
  readonly secret: string;
  readonly now: () => number;
  /** Origin of the service for clients that reach the site as `host` (`six`: over IPv6, else IPv4); null for none. */
  readonly web: (host: string, six: boolean) => string | null;
  /** Credentials at the TURN server for clients that reach the site as `host`; null for none. */
  readonly relay: (
    host: string,
    account: string,
  ) => { username: string; credential: string; urls: string[] } | null;
}
/** The path check, for administrators. */
export function pathCheckOperations(parts: PathCheckParts): Served<typeof operations> {
  const { checks, secret, now, web, relay } = parts;
  const probe = (): PathProbe => {
    if (parts.probe !== null) return parts.probe;
    throw new ServiceError('engine_unavailable', 'the path check is not available with this engine');
  };
  return {
    operations,
    handlers: {
      get: () => checks.state(),
      start: (actor) => checks.start(actor),
      async pass({ caller, ip }, { body }) {
        const { pass, hosts, expires_at } = await probe().pass({ host: body.host ?? null, web });
        await checks.record({ caller, ip }, 'path_check.pass', { host: hosts.join(' ') });
        return { pass, expires_at: rfc3339(expires_at) };
      },
      async phone({ caller, ip, request }) {
        const { account, number } = probe();
        const { hostname, host, protocol } = new URL(request.ownOrigin());
        await checks.record({ caller, ip }, 'path_check.phone');
        return {
          phone: {
            username: account,
            password: browserPassword({ account, secret, now }),
            number,
            domain: hostname,
            ws_url: `${protocol === 'https:' ? 'wss' : 'ws'}://${host}/ws`,
            turn: relay(hostname, account),
          },
        };
      },
      browser: ({ caller, ip }, { body }) => checks.takeBrowser({ caller, ip }, body),
    },
  };
}
