/** Objects at another engine of the site: calls to their numbers are sent there. */
import { isHere } from '../../../ports/site.ts';
import type { Site } from '../../../ports/site.ts';
import type { CallPlan, NumberedPlace } from '../../../routing/plan.ts';
import { at, exten } from './dialplan-text.ts';
import { conf, dialled, objectName } from './text.ts';
import type { ConfText } from './text.ts';

/** Name of the endpoint behind which another engine of the site is, before the name of its node. */
export const ENGINE = 'engine-';
/** Name of an engine's trunk. */
export const trunkOf = (node: string): ConfText => objectName(`${ENGINE}${node}`, 'the node of an engine');
/** Number of something that is at another engine. */
export const leadsTo = (number: ConfText, node: string): ConfText =>
  exten(number, [conf`Goto(to-${trunkOf(node)},$\{EXTEN},1)`]);
/** Conferences and mailboxes of their own are one for the whole site, at the leading engine. */
export const SHARED: ReadonlySet<NumberedPlace['kind']> = new Set(['conference', 'mailbox']);
/** The step that sends a call to the engine of an object; null for an object at this engine. */
export function wayElsewhere(
  { kind, key, object }: NumberedPlace,
  { site }: Pick<CallPlan, 'site'>,
): ConfText | null {
  const { leading = null } = site;
  if (leading === null || !SHARED.has(kind)) return null;
  return conf`Goto(to-${trunkOf(leading)},${dialled(object.number!, `${kind} ${key}: number`)},1)`;
}
/** Prefix of the number of a ring group's member: a phone that is called with it rings without forwards and mailbox. */
export const MEMBER = conf`*`;
/** Members of ring groups who are homed at other engines. */
export const membersElsewhere = ({ extensions }: Pick<Site, 'extensions'>): readonly ConfText[] =>
  extensions.flatMap((e) => {
    if (isHere(e)) return [];
    const number = dialled(e.extension, 'an extension');
    const trunk = trunkOf(e.elsewhere!);
    return [
      exten(number, [
        conf`GotoIf($["$\{EXTEN}" = "$\{OFFHOOK_EXTENSION}"]?over)`,
        conf`GotoIf($["$\{DEVICE_STATE(PJSIP/${trunk})}" = "UNAVAILABLE"]?over)`,
        conf`Set(OFFHOOK_MORE=$\{OFFHOOK_MORE}&PJSIP/${MEMBER}$\{EXTEN}@${trunk})`,
        at(conf`over`, conf`Return()`),
      ]),
    ];
  });
/** Option of a Dial that rings phones and other engines. */
export const ringingMembers = conf`b(ringing-member^s^1)`;
