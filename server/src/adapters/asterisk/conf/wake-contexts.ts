/**
 * Calls that wait for an app. An extension in `offhook-push/<extension>` whose mobile device has no address is rung by one more
 * part of Dial, beside its other devices: a pair of channels that reports to the service, which sends the push, and waits until the
 * app registers. It waits a second for the answer of the service, and then for the time in the answer.
 */
import { namingCustomer } from './customer-contexts.ts';
import { calledPhone, ownForward } from './call-contexts.ts';
import { PUSHED } from './cel-format.ts';
import { at, cause, context, exten } from './dialplan-text.ts';
import { addressesOf, isThere } from './waking-part.ts';
import { conf } from './text.ts';
import type { ConfText } from './text.ts';

/** Name of the event that reports a call that waits. */
export const WAKE = conf`OffhookWake`;
/** Variables with the answer of the service: how long the call may wait; that it is not to wait any longer. */
export const WAKE_SECONDS = conf`OFFHOOK_WAKE_SECONDS`;
export const WAKE_OVER = conf`OFFHOOK_WAKE_OVER`;
/** The channel that waits; the first group is the extension. */
export const WAKING_CHANNEL = /^Local\/([0-9]{1,20})@wake-[0-9a-f]{8};2$/;
const BEGAN = conf`OFFHOOK_WAKE_BEGAN`;

/** For `WaitForCondition`, which replaces the hash by a dollar each time it looks. */
const there = addressesOf(conf`#`);
const isOver = conf`#{LEN(#{${WAKE_OVER}})}`;
const note = (result: ConfText): ConfText =>
  conf`CELGenUserEvent(${PUSHED},$\{EXTEN}:${result}:$[$\{STRFTIME(,,%s%3q)} - $\{${BEGAN}}])`;

export const wakeContexts: ConfText = context(conf`wake`, [
  exten(conf`_X.`, [
    conf`Ringing()`,
    conf`Set(${BEGAN}=$\{STRFTIME(,,%s%3q)})`,
    conf`UserEvent(${WAKE},Extension: $\{EXTEN},Waits: $\{CHANNEL},Call: $\{CHANNEL(linkedid)})`,
    conf`WaitForCondition(#,#[${there} | ${isOver} | #{LEN(#{${WAKE_SECONDS}})}],1,0.05)`,
    conf`GotoIf(${isThere}?there)`,
    conf`GotoIf($\{LEN($\{${WAKE_OVER}})}?over)`,
    conf`GotoIf($\{LEN($\{${WAKE_SECONDS}})}?:away)`,
    note(conf`sent`),
    conf`WaitForCondition(#,#[${there} | ${isOver}],$\{${WAKE_SECONDS}},0.1)`,
    conf`GotoIf(${isThere}?there)`,
    at(conf`over`, note(conf`$\{IF($\{LEN($\{${WAKE_OVER}})}?refused:late)}`)),
    conf`Hangup(${cause('absent')})`,
    at(conf`away`, note(conf`away`)),
    conf`Hangup(${cause('absent')})`,
    at(conf`there`, note(conf`registered`)),
    conf`Gosub(devices-mobile,$\{EXTEN},1)`,
    conf`Dial($\{GOSUB_RETVAL},,${ownForward}${calledPhone}${namingCustomer})`,
    conf`Hangup($\{HANGUPCAUSE})`,
  ]),
]);
