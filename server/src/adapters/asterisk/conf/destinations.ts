/** Where a call is sent: the steps that lead to each kind of destination. */
import type { Destination } from '@offhook/contract/config-objects.ts';
import { ServiceError } from '../../../core/errors.ts';
import type { Site } from '../../../ports/site.ts';
import { soundStep } from './sounds.ts';
import { conf, dialled, objectName, outside, pattern, slug, word, whole } from './text.ts';
import type { ConfText } from './text.ts';

const CAUSE: Readonly<Record<Extract<Destination, { kind: 'hang_up' }>['reason'], ConfText>> = {
  normal: conf`Hangup()`,
  busy: conf`Hangup(17)`,
  congestion: conf`Hangup(34)`,
  not_found: conf`Hangup(1)`,
};
const REASONS = Object.keys(CAUSE) as (keyof typeof CAUSE)[];
const causeOf = (reason: keyof typeof CAUSE, what: string): ConfText => {
  word(reason, `${what}: reason`, REASONS);
  return CAUSE[reason];
};
/** More places than a caller passes who listens; a configuration that leads in a circle reaches it in a moment. */
const MOST_PLACES = conf`100`;
/** First steps of every place that leads on to another one. */
export const counted: readonly ConfText[] = [
  conf`Set(OFFHOOK_PLACES=$[0$\{OFFHOOK_PLACES} + 1])`,
  conf`GotoIf($[$\{OFFHOOK_PLACES} > ${MOST_PLACES}]?lost,s,1)`,
];
/** The context of an object is named after its kind; `s` is its beginning (flow-contexts.ts). */
const PLACES = {
  ring_group: { prefix: conf`group`, among: (site: Site) => site.ring_groups },
  menu: { prefix: conf`menu`, among: (site: Site) => site.menus },
  time_condition: { prefix: conf`time`, among: (site: Site) => site.time_conditions },
  conference: { prefix: conf`room`, among: (site: Site) => site.conferences },
} as const;
/**
 * The last steps of a number or key; `what` names the object for people. `called`: the extension is the number that was called
 * from outside, and goes on over a trunk with what is to be changed of it; else the change is the whole number.
 */
export function destinationSteps(
  to: Destination,
  site: Site,
  what: string,
  called = false,
): readonly ConfText[] {
  switch (to.kind) {
    case 'extension':
      // Somebody who is not active has no number.
      return [
        site.extensions.some((e) => e.extension === to.key)
          ? conf`Goto(people,${dialled(to.key, `${what}: extension`)},1)`
          : CAUSE.not_found,
      ];
    case 'service':
      return [conf`Goto(services,${pattern(to.key, `${what}: service`)},1)`];
    case 'queue': {
      const queue = site.queues.find((q) => q.name === to.key);
      if (queue === undefined) break;
      return [conf`Goto(queues,${dialled(queue.number, `queue ${queue.name}: number`)},1)`];
    }
    case 'ring_group':
    case 'menu':
    case 'time_condition':
    case 'conference': {
      const { prefix, among } = PLACES[to.kind];
      if (!among(site).some((o) => o.name === to.key)) break;
      return [conf`Goto(${prefix}-${slug(to.key, `${what}: ${to.kind}`)},s,1)`];
    }
    case 'mailbox': {
      if (!site.mailboxes.some((m) => m.number === to.key)) break;
      return [conf`Goto(mailbox-${dialled(to.key, `${what}: mailbox`)},s,1)`];
    }
    case 'hang_up':
      return [
        ...(to.play === null ? [] : [conf`Playback(${soundStep(site, to.play, `${what}: sound`)})`]),
        causeOf(to.reason, what),
      ];
    case 'trunk': {
      const trunk = site.trunks.find((t) => t.name === to.key);
      // Switched off: a way that is out of order, and nothing that would keep the rest from being configured.
      if (trunk === undefined) return [conf`Hangup(27)`];
      const first = to.prepend === '' ? conf`` : outside(to.prepend, `${what}: prepend`);
      const kept = conf`$\{EXTEN:${whole(to.strip, `${what}: strip`, 0, 32)}}`;
      const rest = called ? kept : conf``;
      return [
        conf`Set(OFFHOOK_TO=${first}${rest})`,
        conf`Goto(to-${objectName(trunk.endpoint, `${what}: trunk`)},$\{EXTEN},1)`,
      ];
    }
  }
  throw new ServiceError(
    'invalid_request',
    `${what}: ${to.kind} ${'key' in to ? to.key : ''} cannot be reached`,
  );
}
