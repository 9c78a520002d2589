import { routeTest as operations } from '@offhook/contract/operations/config-applies.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LiveView } from '../../ports/live.ts';
import type { Served } from '../../ports/operations.ts';
import type { FeatureCode } from '../../ports/site.ts';
import { toPbxConfig } from './config.ts';
import type { ObjectStore } from './objects.ts';
import { testRoute } from './route-test.ts';
import { toSite } from './site.ts';

export interface RouteTestDeps {
  readonly objects: Pick<ObjectStore, 'applied' | 'draft'>;
  readonly codes: readonly FeatureCode[];
  readonly live: Pick<LiveView, 'features'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly zone: string;
}
/** The route test. It uses the present features of people, even for another time. */
export const routeTestOperations = ({
  objects,
  codes,
  live,
  clock,
  zone,
}: RouteTestDeps): Served<typeof operations> => ({
  operations,
  handlers: {
    routeTest(_actor, { body: { number, from, view, at } }) {
      const site = toSite(toPbxConfig(view === 'draft' ? objects.draft() : objects.applied()), codes);
      const known =
        'trunk' in from
          ? site.trunks.some((t) => t.name === from.trunk)
          : site.extensions.some((e) => e.extension === from.extension);
      if (!known)
        throw new ServiceError(
          'not_found',
          'trunk' in from
            ? say`there is no enabled trunk ${from.trunk}`
            : say`there is no active extension ${from.extension}`,
        );
      const moment = at === undefined ? clock.now() : Date.parse(at);
      const answer = testRoute(site, { number, from, at: moment, zone, features: live.features });
      return {
        test: {
          number,
          at: rfc3339(moment),
          zone,
          steps: [...answer.steps],
          ends: [...answer.ends],
          complete: answer.complete,
        },
      };
    },
  },
});
