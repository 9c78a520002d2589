/** Ring groups, menus, conferences and mailboxes of their own: each has a context, `s` is its beginning. */
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import { isHere } from '../../../ports/site.ts';
import type { Site, SiteMailbox } from '../../../ports/site.ts';
import { activeMembers } from '../../../routing/plan.ts';
import type { CallPlan, NumberedPlace } from '../../../routing/plan.ts';
import { calledPhone, callingPhone, ownForward } from './call-contexts.ts';
import { PIN_GUESSES, pinSteps } from './pin-guesses.ts';
import { conferenceSteps } from './conference-file.ts';
import { namingCustomer } from './customer-contexts.ts';
import { counted, destinationSteps, toPlace } from './destinations.ts';
import { at, context, exten, hangUp } from './dialplan-text.ts';
import { membersElsewhere, wayElsewhere, ringingMembers } from './elsewhere.ts';
import { wantsNone } from './self-service-contexts.ts';
import type { RecordingSteps } from './recording-contexts.ts';
import { soundStep } from './sounds.ts';
import { timeContexts } from './time-contexts.ts';
import { conf, dialled, dialledKey, joined, slug, whole, word } from './text.ts';
import type { ConfText } from './text.ts';
import { IS_CONNECTED, NOBODY_TOOK_IT, NOTE_BUSY } from './unanswered.ts';

type RingGroup = ConfigBody<'ring_group'>;
type Menu = ConfigBody<'menu'>;
const nothing = conf``;
const S = conf`s`;

const LOST = context(conf`lost`, [exten(S, [hangUp('circle')])]);

/** End of an unanswered call that has no further destination. */
const UNANSWERED = context(conf`unanswered`, [exten(S, [NOTE_BUSY, IS_CONNECTED, ...NOBODY_TOOK_IT])]);

/**
 * The engine reads at most 4,095 bytes of a variable and 8,192 bytes of the arguments of an application, so a group that rings many
 * devices has two variables. A phone chooses how long its addresses are.
 */
const LONG_LIST = conf`3900`;
const LONG_REST = conf`2000`;
const LONG_ADDRESS = conf`1000`;
/**
 * Adds the devices of an extension that may ring to OFFHOOK_GROUP, else to OFFHOOK_MORE, without the devices of the caller and
 * without forwards.
 */
const groupMember = (site: Site): ConfText =>
  context(conf`ring-member`, [
    exten(conf`_X.`, [
      conf`GotoIf($["$\{EXTEN}" = "$\{OFFHOOK_EXTENSION}"]?over)`,
      conf`GotoIf(${wantsNone}?over)`,
      conf`Gosub(own-devices,$\{EXTEN},1)`,
      conf`Set(LOCAL(FOUND)=$\{GOSUB_RETVAL})`,
      conf`ExecIf($[$\{LEN($\{FOUND})} > ${LONG_ADDRESS}]?Set(LOCAL(FOUND)=Local/$\{EXTEN}@queue-agent))`,
      conf`GotoIf($[$\{LEN($\{OFFHOOK_GROUP})} + $\{LEN($\{FOUND})} > ${LONG_LIST}]?more)`,
      conf`Set(OFFHOOK_GROUP=$\{OFFHOOK_GROUP}&$\{FOUND})`,
      at(conf`over`, conf`Return()`),
      at(
        conf`more`,
        conf`ExecIf($[$\{LEN($\{OFFHOOK_MORE})} + $\{LEN($\{FOUND})} > ${LONG_REST}]?Set(LOCAL(FOUND)=Local/$\{EXTEN}@queue-agent))`,
      ),
      conf`Set(OFFHOOK_MORE=$\{OFFHOOK_MORE}&$\{FOUND})`,
      conf`Return()`,
    ]),
    ...membersElsewhere(site),
  ]);

function ringGroup(g: RingGroup, plan: CallPlan, recording: RecordingSteps): ConfText {
  const name = slug(g.name, 'the name of a ring group');
  const what = `ring group ${name}`;
  const seconds = whole(g.ring_seconds, `${what}: ring seconds`, 5, 300);
  const active = activeMembers(g, plan);
  const members = active.map((m) => dialled(m.extension, `${what}: member`));
  const naming = active.every(isHere) ? namingCustomer : ringingMembers;
  const add = (m: ConfText): ConfText => conf`Gosub(ring-member,${m},1)`;
  const clear = [conf`Set(OFFHOOK_GROUP=)`, conf`Set(OFFHOOK_MORE=)`, conf`Set(DIALSTATUS=)`];
  const { before, options } = recording.group(g);
  // After the ringing the engine continues at the next step, and an apply may have changed the members meanwhile: so the ringing
  // is the first step of a context of its own, and the members still to be rung are in a variable of the call.
  const ring = conf`ExecIf($[$\{LEN($\{OFFHOOK_GROUP})} + $\{LEN($\{OFFHOOK_MORE})} > 0]?Dial($\{OFFHOOK_GROUP:1}$\{OFFHOOK_MORE},${seconds},${ownForward}${calledPhone}${callingPhone}${naming}${options}))`;
  word(g.strategy, `${what}: strategy`, ['all', 'in_order']);
  const otherwise =
    g.otherwise === null
      ? [conf`Goto(unanswered,s,1)`]
      : destinationSteps(g.otherwise, plan, `${what}: otherwise`);
  const inOrder = g.strategy === 'in_order';
  return joined(
    [
      context(conf`group-${name}`, [
        exten(S, [
          ...counted,
          ...before,
          ...clear,
          conf`Set(OFFHOOK_TURNS=${inOrder ? joined(members, '&') : nothing})`,
          ...(inOrder ? [conf`Goto(rings-${name},s,next)`] : members.map(add)),
          ...(inOrder ? [] : [conf`Goto(rings-${name},s,1)`]),
        ]),
      ]),
      context(conf`rings-${name}`, [
        exten(S, [
          ring,
          at(conf`next`, conf`GotoIf($\{LEN($\{OFFHOOK_TURNS})}?:otherwise)`),
          ...clear,
          add(conf`$\{SHIFT(OFFHOOK_TURNS,&)}`),
          conf`Goto(1)`,
          at(conf`otherwise`, conf`NoOp()`),
          ...otherwise,
        ]),
      ]),
    ],
    '',
  );
}

/** Time for another digit of an extension, in seconds. */
const DIGIT_SECONDS = conf`3`;
const WRONG_KEY = conf`pbx-invalid`;
function menu(m: Menu, plan: CallPlan): ConfText {
  const name = slug(m.name, 'the name of a menu');
  const what = `menu ${name}`;
  const heard =
    m.greeting === null ? [] : [conf`Background(${soundStep(plan.site, m.greeting, `${what}: greeting`)})`];
  const keys = m.choices.map(({ key, to }) =>
    exten(
      dialledKey(key, `${what}: key`),
      destinationSteps(to, plan, `${what}: key ${dialledKey(key, `${what}: key`)}`),
    ),
  );
  return context(conf`menu-${name}`, [
    m.dial_extensions
      ? conf`include => people
`
      : nothing,
    exten(S, [
      ...counted,
      conf`Answer()`,
      conf`Set(TIMEOUT(digit)=${DIGIT_SECONDS})`,
      conf`Set(OFFHOOK_ATTEMPTS=0)`,
      at(conf`again`, conf`Set(OFFHOOK_ATTEMPTS=$[$\{OFFHOOK_ATTEMPTS} + 1])`),
      conf`GotoIf($[$\{OFFHOOK_ATTEMPTS} > ${whole(m.attempts, `${what}: attempts`, 1, 10)}]?otherwise)`,
      ...heard,
      conf`WaitExten(${whole(m.timeout_seconds, `${what}: timeout`, 1, 30)})`,
      conf`Goto(again)`,
      at(conf`otherwise`, conf`NoOp()`),
      ...destinationSteps(m.otherwise, plan, `${what}: otherwise`),
    ]),
    ...keys,
    exten(conf`t`, [conf`Goto(s,again)`]),
    exten(conf`i`, [conf`Background(${WRONG_KEY})`, conf`Goto(s,again)`]),
  ]);
}

const room = (c: ConfigBody<'conference'>): ConfText =>
  context(conf`room-${slug(c.name, 'the name of a conference')}`, [exten(S, conferenceSteps(c))]);
/** A caller who presses `*` during the greeting and knows the PIN listens to the messages. */
function mailbox(m: SiteMailbox): ConfText {
  const number = dialled(m.number, 'a mailbox');
  return context(conf`mailbox-${number}`, [
    exten(S, [conf`VoiceMail(${number}@default,u)`, conf`Hangup()`]),
    exten(
      conf`a`,
      pinSteps({
        of: conf`box-${number}`,
        ask: conf`vm-password`,
        incorrect: conf`vm-incorrect`,
        ways: [
          {
            label: conf`open`,
            pin: conf`$\{VM_INFO(${number}@default,password)}`,
            steps: [conf`VoiceMailMain(${number}@default,s)`, conf`Hangup()`],
          },
        ],
      }),
    ),
  ]);
}

const WHAT: Readonly<Record<NumberedPlace['kind'], string>> = {
  ring_group: 'ring group',
  menu: 'menu',
  time_condition: 'time condition',
  conference: 'conference',
  mailbox: 'mailbox',
};
/** Context of the numbers of all these destinations. */
const numbers = (plan: CallPlan): ConfText =>
  context(
    conf`places`,
    [...plan.places].map(([number, place]) => {
      const what = WHAT[place.kind];
      return exten(dialled(number, `${what} ${place.key}: number`), [
        wayElsewhere(place, plan) ?? toPlace(place, `the name of a ${what}`),
      ]);
    }),
  );

export function flowContexts(plan: CallPlan, recording: RecordingSteps, zone: string): ConfText {
  const { ring_groups, menus, conferences, mailboxes } = plan.site;
  return joined(
    [
      numbers(plan),
      LOST,
      UNANSWERED,
      groupMember(plan.site),
      PIN_GUESSES,
      ...ring_groups.map((g) => ringGroup(g, plan, recording)),
      ...menus.map((m) => menu(m, plan)),
      ...conferences.map(room),
      ...mailboxes.map(mailbox),
      timeContexts(plan, zone),
    ],
    '',
  );
}
