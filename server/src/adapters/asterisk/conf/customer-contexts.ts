/**
 * Entries of the phonebook on numbers outside are kept in the engine's own store, so that they hold while the service is down:
 * `offhook-customers/<number>`, the number in E.164, and those of the site's country as they are dialled inside it too.
 * actions/customers.ts writes them. Names come from outside, so none is ever part of an expression or an argument: one step
 * alone reads a name, and the engine does not read a value of its store as dialplan.
 *
 * Rules for callers are beside them: `offhook-callers/<number>`, the beginning of a number or a whole one in each spelling, and
 * `offhook-callers/anonymous`. A value is two marks, for the whole number and for all that begin with it, and the extension
 * whose feature code wrote it, until the service has read that.
 */
import { calledPhone, callingPhone, ownForward } from './call-contexts.ts';
import { CALLER_BLOCKED, REJECTED } from './cel-format.ts';
import { at, context, exten, hangUp } from './dialplan-text.ts';
import type { RecordingSteps } from './recording-contexts.ts';
import { forwardsAll } from './self-service-contexts.ts';
import { conf, joined, whole } from './text.ts';
import type { ConfText } from './text.ts';

export const CUSTOMERS = conf`offhook-customers`;
/**
 * A value begins with `BLOCKED` or a hyphen, then the owner: digits, and hyphens in front, then the language, and hyphens behind.
 * The rest is the name.
 */
export const OWNER_LENGTH = 10;
export const LANGUAGE_LENGTH = 5;
export const BLOCKED = conf`x`;
export const CALLERS = conf`offhook-callers`;
export const ALLOWED = conf`a`;
export const NO_RULE = conf`-`;
export const ANONYMOUS = conf`anonymous`;
/** Number outside that a phone of an extension was last rung for, as it arrived. */
export const LAST = conf`offhook-last`;
const OWNER_END = whole(OWNER_LENGTH + 1, 'the end of an owner', 1, 20);
const HEAD_END = whole(OWNER_LENGTH + LANGUAGE_LENGTH + 1, 'the end of a language', 1, 30);
const nothing = conf``;
const value = (number: ConfText): ConfText => conf`DB(${CUSTOMERS}/${number})`;
const CUSTOMER = value(conf`$\{OFFHOOK_CUSTOMER}`);
const FROM = conf`$\{OFFHOOK_FROM_OUTSIDE}`;
const isKnown = conf`$\{DB_EXISTS(${CUSTOMERS}/${FROM})}`;

/** First step of a call that arrives over a trunk. */
export const findCustomer = conf`Gosub(find-customer,s,1)`;
/** Lengths of prefixes: those of E.164 with its plus. */
const PREFIXES = Array.from({ length: 15 }, (_, i) => whole(i + 2, 'the length of a prefix', 2, 16));
const rule = (number: ConfText, mark: ConfText): ConfText => conf`$\{DB(${CALLERS}/${number}):${mark}:1}`;
/** Marks of the whole number and of its beginnings. */
const rulesOf = (sign: ConfText): ConfText =>
  joined(
    [
      rule(conf`${sign}${FROM}`, conf`0`),
      ...PREFIXES.map((n) => rule(conf`${sign}$\{OFFHOOK_FROM_OUTSIDE:0:${n}}`, conf`1`)),
    ],
    '',
  );
/**
 * Leaves the mark of the rule for the caller in OFFHOOK_FROM_OUTSIDE in GOSUB_RETVAL; ARG1 is not empty where the number is
 * hidden. An allowing rule wins. 33 lookups at most.
 */
const RULE = context(conf`caller-rule`, [
  exten(conf`s`, [
    conf`Set(LOCAL(FOUND)=)`,
    conf`ExecIf($\{LEN($\{ARG1})}?Set(LOCAL(FOUND)=${rule(ANONYMOUS, conf`0`)}))`,
    conf`GotoIf($\{LEN(${FROM})}?:decide)`,
    conf`Set(LOCAL(FOUND)=$\{FOUND}${rulesOf(nothing)})`,
    conf`GotoIf($["$\{OFFHOOK_FROM_OUTSIDE:0:1}" = "+"]?decide)`,
    conf`Set(LOCAL(FOUND)=$\{FOUND}${rulesOf(conf`+`)})`,
    at(conf`decide`, conf`Set(LOCAL(MAY)=$\{FILTER(${ALLOWED},$\{FOUND})})`),
    conf`Set(LOCAL(NOT)=$\{FILTER(${BLOCKED},$\{FOUND})})`,
    conf`Return($\{IF($\{LEN($\{MAY})}?${ALLOWED}:$\{NOT:0:1})})`,
  ]),
]);
/** Writes down on the channel of a phone that rings for whom it rings. */
const REMEMBER = conf`ExecIf($[$\{LEN($\{OFFHOOK_CALLING})} & $\{LEN($\{OFFHOOK_EXTENSION})}]?Set(DB(${LAST}/$\{OFFHOOK_EXTENSION})=$\{OFFHOOK_CALLING}))`;
/** Blocks the last caller of the extension that dials and leaves its digits in GOSUB_RETVAL; nothing where none can be blocked. */
const BLOCK_LAST = context(conf`block-last`, [
  exten(conf`s`, [
    conf`Set(OFFHOOK_FROM_OUTSIDE=$\{DB(${LAST}/$\{OFFHOOK_EXTENSION})})`,
    conf`GotoIf($\{LEN(${FROM})}?:refused)`,
    conf`Gosub(caller-rule,s,1)`,
    conf`GotoIf($["$\{GOSUB_RETVAL}" = "${ALLOWED}"]?refused)`,
    conf`GotoIf($["$\{GOSUB_RETVAL}" = "${BLOCKED}"]?said)`,
    conf`Set(DB(${CALLERS}/${FROM})=${BLOCKED}${NO_RULE}$\{OFFHOOK_EXTENSION})`,
    conf`CELGenUserEvent(${CALLER_BLOCKED},$\{OFFHOOK_EXTENSION})`,
    at(conf`said`, conf`Return($\{FILTER(0-9,${FROM})})`),
    at(conf`refused`, conf`Return()`),
  ]),
]);
/**
 * Sets OFFHOOK_CUSTOMER, on this channel and on all that it rings, to the caller's number in the store. A number
 * without + or 00 is first read as one of this country, then as E.164. Rejects the call of a blocked customer, and of a caller
 * that a rule blocks.
 */
const FIND = context(conf`find-customer`, [
  exten(conf`s`, [
    conf`Set(OFFHOOK_FROM_OUTSIDE=$\{FILTER(0-9+,$\{CALLERID(num)})})`,
    conf`Set(OFFHOOK_FROM_OUTSIDE=$\{OFFHOOK_FROM_OUTSIDE:0:32})`,
    conf`ExecIf($["$\{OFFHOOK_FROM_OUTSIDE:0:2}" = "00"]?Set(OFFHOOK_FROM_OUTSIDE=+$\{OFFHOOK_FROM_OUTSIDE:2}))`,
    conf`Set(__OFFHOOK_CALLING=${FROM})`,
    conf`Gosub(caller-rule,s,1($\{IF($["$\{CALLERID(num-pres):0:6}" = "prohib" | $\{LEN(${FROM})} = 0]?1:)}))`,
    conf`Set(LOCAL(RULE)=$\{GOSUB_RETVAL})`,
    conf`GotoIf($["$\{RULE}" = "${BLOCKED}"]?blocked)`,
    conf`GotoIf($\{LEN(${FROM})}?:over)`,
    conf`GotoIf(${isKnown}?known)`,
    conf`Set(OFFHOOK_FROM_OUTSIDE=+${FROM})`,
    conf`GotoIf(${isKnown}?:over)`,
    at(conf`known`, conf`Set(__OFFHOOK_CUSTOMER=${FROM})`),
    conf`GotoIf($["$\{RULE}" = "${ALLOWED}"]?over)`,
    conf`GotoIf($["$\{FILTER(${BLOCKED},$\{${CUSTOMER}:0:1})}" = "${BLOCKED}"]?customer)`,
    at(conf`over`, conf`Return()`),
    at(conf`customer`, conf`Set(LOCAL(RULE)=customer)`),
    at(conf`blocked`, conf`CELGenUserEvent(${REJECTED},$\{IF($["$\{RULE}" = "customer"]?customer:rule)})`),
    hangUp('rejected'),
  ]),
]);
/**
 * Runs on the channel of a phone before it rings: it shows the customer's name. Only phones of the house come here, so no name
 * is sent over a trunk, and the caller's own channel and its records keep the name that came with the call.
 */
const NAME = context(conf`name-customer`, [
  exten(conf`s`, [
    REMEMBER,
    conf`GotoIf($\{LEN($\{OFFHOOK_CUSTOMER})}?:unknown)`,
    conf`Set(CONNECTEDLINE(name,i)=$\{${CUSTOMER}:${HEAD_END}})`,
    at(conf`unknown`, conf`Return()`),
  ]),
]);
/**
 * Option of every Dial of a phone, except for the one that watches for a forward: `watch-forward` continues at `name-customer`
 * itself.
 */
export const namingCustomer = conf`b(name-customer^s^1)`;

/** The language of the calling customer; empty where the phonebook has none. */
export const CUSTOMER_LANGUAGE = conf`$\{FILTER(a-zA-Z_,$\{${CUSTOMER}:${OWNER_END}:${whole(LANGUAGE_LENGTH, 'the length of a language', 1, 9)}})}`;

const OWNER = conf`$\{OFFHOOK_OWNER}`;
/**
 * Rings the owner of the calling customer for ARG1 seconds, and returns where the owner did not answer. The hint is free only
 * where a phone is there, none is in a call and the owner wants calls; a forward is not followed.
 */
const OWNER_FIRST = context(conf`owner-first`, [
  exten(conf`s`, [
    conf`GotoIf($\{LEN($\{OFFHOOK_CUSTOMER})}?:over)`,
    conf`Set(OFFHOOK_OWNER=$\{FILTER(0-9,$\{${CUSTOMER}:1:${whole(OWNER_LENGTH, 'the length of an owner', 1, 20)}})})`,
    conf`GotoIf($\{DIALPLAN_EXISTS(people,${OWNER},1)}?:over)`,
    conf`GotoIf($["$\{EXTENSION_STATE(${OWNER}@hints)}" = "NOT_INUSE"]?:over)`,
    conf`GotoIf(${forwardsAll(OWNER)}?over)`,
    conf`Goto(owner-rings,${OWNER},1)`,
    at(conf`over`, conf`Return()`),
  ]),
]);
const ownerRings = ({ caller, announce, announced, answered }: RecordingSteps): ConfText =>
  context(conf`owner-rings`, [
    exten(conf`_X.`, [
      ...caller,
      ...announce,
      conf`Gosub(own-devices,$\{EXTEN},1)`,
      conf`Dial($\{GOSUB_RETVAL},$\{ARG1},${ownForward}${calledPhone}${callingPhone}${namingCustomer}${announced}${answered})`,
      conf`Return()`,
    ]),
  ]);
/** First steps of an inbound route. */
export const ownerFirst = (seconds: number | null, what: string): readonly ConfText[] =>
  seconds === null
    ? []
    : [conf`Gosub(owner-first,s,1(${whole(seconds, `${what}: seconds for the owner`, 5, 120)}))`];

export const customerContexts = (recording: RecordingSteps): ConfText =>
  joined([FIND, RULE, BLOCK_LAST, NAME, OWNER_FIRST, ownerRings(recording)], '');
