/** Where a call is sent: the steps that lead to each kind of destination. */
import type { Destination } from '@offhook/contract/config-objects.ts';
import { ServiceError } from '../../../core/errors.ts';
import type { Site } from '../../../ports/site.ts';
import { conf, dialled, pattern } from './text.ts';
import type { ConfText } from './text.ts';

const CAUSE: Readonly<Record<Extract<Destination, { kind: 'hang_up' }>['reason'], ConfText>> = {
  normal: conf`Hangup()`,
  busy: conf`Hangup(17)`,
  congestion: conf`Hangup(34)`,
  not_found: conf`Hangup(1)`,
};
/** The last steps of a number or key; `what` names the object for people. Over a trunk is the matter of routes alone. */
export function destinationSteps(to: Destination, site: Site, what: string): readonly ConfText[] {
  switch (to.kind) {
    case 'extension':
      return [conf`Goto(people,${dialled(to.key, `${what}: extension`)},1)`];
    case 'service':
      return [conf`Goto(services,${pattern(to.key, `${what}: service`)},1)`];
    case 'queue': {
      const queue = site.queues.find((q) => q.name === to.key);
      if (queue === undefined) break;
      return [conf`Goto(queues,${dialled(queue.number, `queue ${queue.name}: number`)},1)`];
    }
    case 'hang_up':
      return [CAUSE[to.reason]];
    default:
      break;
  }
  throw new ServiceError(
    'invalid_request',
    `${what}: ${to.kind} ${'key' in to ? to.key : ''} cannot be reached`,
  );
}
