/**
 * Call settings of a person are kept in the engine's own store, one value for each thing, so that they hold without a
 * reload and while the service is down: `offhook/<extension>/<key>`. Codes write it through `keep-feature`, the service by
 * actions/features.ts, and `at`, milliseconds since 1970, is always written last: a change without it never came to be.
 */
import { FORWARDED } from './cel-format.ts';
import { at, context, exten, isNumber } from './dialplan-text.ts';
import { KIND_PAIRS } from '../../../ports/engine-state.ts';
import { MOST_FORWARDS } from '../../../routing/causes.ts';
import { addWaking } from './waking-part.ts';
import { conf, joined, slug, whole } from './text.ts';
import type { ConfText } from './text.ts';
import { NOTE_BUSY } from './unanswered.ts';

export const STORE = conf`offhook`;
/** Key of each thing in the store. `dnd` is 1; the forwards are numbers; `devices` is the kind that rings, or two with a hyphen. */
export const KEYS = {
  dnd: conf`dnd`,
  forward: conf`forward`,
  forward_busy: conf`busy`,
  forward_no_answer: conf`noanswer`,
  ring_seconds: conf`seconds`,
  devices: conf`devices`,
  changed_at: conf`at`,
} as const;
/** Ring time before a forward on no answer that has no time of its own, and ring time without a forward. */
const RING_FIRST = conf`20`;
const RING = conf`30`;
const MOST = whole(MOST_FORWARDS, 'most forwards', 1, 100);
/** Event that reports the extension whose store a code has changed; the service then reads that store. */
export const CHANGED = conf`OffhookFeatures`;
/** Device state that is BUSY during do not disturb: queues do not ring a busy person, and lamps show it. */
export const dndState = (extension: ConfText): ConfText => conf`Custom:dnd-${extension}`;

/** The state that counts least beside those of the devices; UNKNOWN cannot be written. */
export const DND_OFF = conf`INVALID`;
export const DND_ON = conf`BUSY`;

const kept = (who: ConfText, key: ConfText): ConfText => conf`$\{DB(${STORE}/${who}/${key})}`;
const EXTEN = conf`$\{EXTEN}`;
const own = (key: ConfText): ConfText => kept(EXTEN, key);
const elsewhere = (number: ConfText, asked: ConfText): ConfText =>
  conf`Gosub(elsewhere,$\{EXTEN},1(${number},${asked}))`;

/** True in an expression where the extension that is dialled wants no calls. */
export const wantsNone = conf`$\{LEN(${own(KEYS.dnd)})}`;
/** True in an expression where an extension forwards every call. */
export const forwardsAll = (who: ConfText): ConfText => conf`$\{LEN(${kept(who, KEYS.forward)})}`;
/** Steps before the ringing: first a forward of every call, then do not disturb. */
export const beforeRinging: readonly ConfText[] = [
  elsewhere(own(KEYS.forward), conf``),
  conf`GotoIf($\{LEN($\{GOSUB_RETVAL})}?stay)`,
  conf`GotoIf(${wantsNone}?dnd)`,
  conf`Set(SHARED(OFFHOOK_FORWARD)=)`,
  conf`Set(OFFHOOK_RING=$\{IF($\{LEN(${own(KEYS.forward_no_answer)})}?$\{IF($\{LEN(${own(KEYS.ring_seconds)})}?${own(KEYS.ring_seconds)}:${RING_FIRST})}:${RING})})`,
];
/** Steps after the ringing: a forward that the phone requested, then the forward for a busy or an unanswered call. */
export const afterRinging: readonly ConfText[] = [
  elsewhere(conf`$\{SHARED(OFFHOOK_FORWARD)}`, conf`asked`),
  at(conf`stay`, NOTE_BUSY),
  conf`Goto(away)`,
  at(conf`dnd`, conf`Set(OFFHOOK_BUSY=1)`),
  at(
    conf`away`,
    elsewhere(
      kept(EXTEN, conf`$\{IF($\{OFFHOOK_BUSY}?${KEYS.forward_busy}:${KEYS.forward_no_answer})}`),
      conf``,
    ),
  ),
];
export const ringSeconds = conf`$\{OFFHOOK_RING}`;

/**
 * Continues at ARG1 if calls of this extension may be forwarded there; returns otherwise. A forward that leads nowhere, outside
 * without the right, to an emergency number, or in a circle is an unanswered call. ARG2 is not empty if the engine itself stored
 * the forward that a phone requested.
 */
const ELSEWHERE = context(conf`elsewhere`, [
  exten(conf`_X.`, [
    conf`GotoIf($\{LEN($\{ARG1})}?:none)`,
    conf`GotoIf($\{LEN($\{ARG2})}?forward)`,
    conf`CELGenUserEvent(${FORWARDED},$\{ARG1})`,
    at(conf`forward`, conf`GotoIf(${isNumber(conf`ARG1`)}?:nowhere)`),
    conf`Gosub(forward-way,$\{EXTEN},1)`,
    conf`GotoIf($[$\{LEN($\{OFFHOOK_FORWARDS})} < ${MOST} & $\{DIALPLAN_EXISTS($\{GOSUB_RETVAL},$\{ARG1},1)} & $\{DIALPLAN_EXISTS(help-numbers,$\{ARG1},1)} = 0]?:nowhere)`,
    conf`Set(OFFHOOK_FORWARDS=$\{OFFHOOK_FORWARDS}x)`,
    conf`Set(OFFHOOK_FORWARDER=$\{EXTEN})`,
    conf`Goto($\{GOSUB_RETVAL},$\{ARG1},1)`,
    at(conf`nowhere`, conf`Return(nowhere)`),
    at(conf`none`, conf`Return()`),
  ]),
]);
/** Two kinds of devices: the addresses of the one and of the other. */
const PAIRS = KIND_PAIRS.map((pair) => {
  const [one, other] = pair.split('-').map((kind) => conf`devices-${slug(kind, 'a kind of device')}`);
  return context(conf`devices-${slug(pair, 'two kinds of devices')}`, [
    exten(conf`_X.`, [
      conf`Gosub(${one!},$\{EXTEN},1)`,
      conf`Set(LOCAL(FIRST)=$\{GOSUB_RETVAL})`,
      conf`Gosub(${other!},$\{EXTEN},1)`,
      conf`Return($\{FIRST}&$\{GOSUB_RETVAL})`,
    ]),
  ]);
});
/** The addresses of the devices that may ring: all, or those of the kinds that were chosen, where there are such. */
const OWN_DEVICES = context(conf`own-devices`, [
  exten(conf`_X.`, [
    conf`Set(LOCAL(KIND)=devices-${own(KEYS.devices)})`,
    conf`Gosub($\{IF($\{DIALPLAN_EXISTS($\{KIND},$\{EXTEN},1)}?$\{KIND}:devices)},$\{EXTEN},1)`,
    conf`Set(LOCAL(FOUND)=$\{GOSUB_RETVAL})`,
    ...addWaking,
  ]),
]);
const caller = conf`$\{OFFHOOK_EXTENSION}`;
/** ARG1 is the key and ARG2 the value, empty for none, of the extension that dials. */
const KEEP = context(conf`keep-feature`, [
  exten(conf`s`, [
    conf`GotoIf($["$\{ARG1}" = "${KEYS.dnd}"]?:value)`,
    conf`Set(DEVICE_STATE(${dndState(caller)})=$\{IF($\{LEN($\{ARG2})}?${DND_ON}:${DND_OFF})})`,
    at(conf`value`, conf`GotoIf($\{LEN($\{ARG2})}?put)`),
    conf`Set(OFFHOOK_WAS=$\{DB_DELETE(${STORE}/${caller}/$\{ARG1})})`,
    conf`Goto(when)`,
    at(conf`put`, conf`Set(DB(${STORE}/${caller}/$\{ARG1})=$\{ARG2})`),
    at(conf`when`, conf`Set(OFFHOOK_NOW=$\{STRFTIME(,,%s%3q)})`),
    conf`Set(OFFHOOK_WAS=0${kept(caller, KEYS.changed_at)})`,
    // A clock that was set back must not make a newer change look older.
    conf`ExecIf($[$\{OFFHOOK_WAS} >= $\{OFFHOOK_NOW}]?Set(OFFHOOK_NOW=$[$\{OFFHOOK_WAS} + 1]))`,
    conf`Set(DB(${STORE}/${caller}/${KEYS.changed_at})=$\{OFFHOOK_NOW})`,
    conf`UserEvent(${CHANGED},Extension: ${caller})`,
    conf`Return()`,
  ]),
]);

export const selfServiceContexts: ConfText = joined([ELSEWHERE, ...PAIRS, OWN_DEVICES, KEEP], '');
