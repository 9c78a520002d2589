/** Destinations of calls: the steps that lead to each kind. */
import type { Destination } from '@offhook/contract/config-fields.ts';
import { ServiceError } from '../../../core/errors.ts';
import { HANG_UP, MOST_PLACES } from '../../../routing/causes.ts';
import type { CallPlan, NumberKind, NumberedPlace } from '../../../routing/plan.ts';
import { hangUp } from './dialplan-text.ts';
import { wayElsewhere } from './elsewhere.ts';
import { soundStep } from './sounds.ts';
import { conf, dialled, joined, objectName, outside, pattern, slug, word, whole } from './text.ts';
import type { ConfText } from './text.ts';

const REASONS = Object.keys(HANG_UP) as (keyof typeof HANG_UP)[];
const MOST = whole(MOST_PLACES, 'most places', 1, 10_000);
/** First steps of every destination that passes calls on to another. */
export const counted: readonly ConfText[] = [
  conf`Set(OFFHOOK_PLACES=$[0$\{OFFHOOK_PLACES} + 1])`,
  conf`GotoIf($[$\{OFFHOOK_PLACES} > ${MOST}]?lost,s,1)`,
];
const NUMBERS: Readonly<Record<NumberKind, ConfText>> = {
  people: conf`people`,
  queues: conf`queues`,
  places: conf`places`,
  services: conf`services`,
  feature_codes: conf`feature-codes`,
  parking: conf`parkedcalls`,
};
/** Lines that look for a number among these kinds, in this order. */
export const numbersOf = (kinds: readonly NumberKind[]): ConfText =>
  joined(
    kinds.map(
      (kind) => conf`include => ${NUMBERS[kind]}
`,
    ),
    '',
  );
/** The context of an object is named after its kind; `s` is its beginning (flow-contexts.ts). */
const PREFIX: Readonly<Record<NumberedPlace['kind'], ConfText>> = {
  ring_group: conf`group`,
  menu: conf`menu`,
  time_condition: conf`time`,
  conference: conf`room`,
  mailbox: conf`mailbox`,
};
/** Jumps to the beginning of a destination; `what` names its key in errors. */
export const toPlace = ({ kind, key }: NumberedPlace, what: string): ConfText =>
  conf`Goto(${PREFIX[kind]}-${kind === 'mailbox' ? dialled(key, what) : slug(key, what)},s,1)`;

/**
 * The last steps of a number or key; `what` names the object for people. `called`: the extension is the number that was called
 * from outside, and goes on over a trunk with what is to be changed of it; else the change is the whole number.
 */
export function destinationSteps(
  to: Destination,
  plan: CallPlan,
  what: string,
  called = false,
): readonly ConfText[] {
  const target = plan.target(to, called);
  switch (target.kind) {
    case 'extension':
      return [conf`Goto(people,${dialled(target.key, `${what}: extension`)},1)`];
    case 'service':
      return [conf`Goto(services,${pattern(target.key, `${what}: service`)},1)`];
    case 'queue': {
      const { name, number } = target.object;
      return [conf`Goto(queues,${dialled(number, `queue ${name}: number`)},1)`];
    }
    case 'ring_group':
    case 'menu':
    case 'time_condition':
    case 'conference':
    case 'mailbox':
      return [wayElsewhere(target, plan) ?? toPlace(target, `${what}: ${target.kind}`)];
    case 'hang_up': {
      word(target.reason, `${what}: reason`, REASONS);
      return [
        ...(target.play === null
          ? []
          : [conf`Playback(${soundStep(plan.site, target.play, `${what}: sound`)})`]),
        target.cause === 'normal' ? conf`Hangup()` : hangUp(target.cause),
      ];
    }
    case 'trunk': {
      const { strip, prepend, trunk } = target;
      const first = prepend === '' ? conf`` : outside(prepend, `${what}: prepend`);
      const rest = strip === null ? conf`` : conf`$\{EXTEN:${whole(strip, `${what}: strip`, 0, 32)}}`;
      return [
        conf`Set(OFFHOOK_TO=${first}${rest})`,
        conf`Goto(to-${objectName(trunk.endpoint, `${what}: trunk`)},$\{EXTEN},1)`,
      ];
    }
    // Nothing that would keep the rest from being configured.
    case 'off':
      return [hangUp(target.cause)];
    case 'missing':
      throw new ServiceError('invalid_request', `${what}: ${target.of} ${target.key} cannot be reached`);
  }
}
