/**
 * Calls that a phone wants rung elsewhere (302), and where the calls of an extension may be led at all. The engine's own forwarding is switched
 * off wherever a phone of ours is rung (`ownForward`): it takes `<technology>/<anything>` out of the phone's answer and dials
 * it, in any context and over any trunk (tried). What the phone asks for is read here instead, and only a number is followed.
 */
import type { Site } from '../../../ports/site.ts';
import { FORWARDED, isEmergency } from '../../../routing/plan.ts';
import { ownForward } from './call-contexts.ts';
import { numbersOf } from './destinations.ts';
import { at, context, exten, isNumber } from './dialplan-text.ts';
import { outboundInclude } from './route-contexts.ts';
import { personOfPhone } from './shared-phone-contexts.ts';
import { conf, dialled, joined, outsidePattern } from './text.ts';
import type { ConfText } from './text.ts';

/** Option that notes on the caller's channel where the rung phone wants the call. */
export const watched = conf`b(watch-forward^s^1($\{CHANNEL}))`;
/**
 * The phone's answer names the number as the redirecting target of its own channel. The engine otherwise fills that target with
 * the number of the incoming call, so it is emptied before the ringing. The channel ends before Dial continues, so its last step
 * is in time; often the engine does not know its own reason yet, so the step sets it, too.
 */
const WATCH = conf`
[watch-forward]
exten => s,1,Set(REDIRECTING(to-num,i)=)
 same => n,Set(CHANNEL(hangup_handler_push)=watch-forward,h,1($\{ARG1}))
 same => n,Goto(name-customer,s,1)
exten => h,1,GotoIf($\{LEN($\{REDIRECTING(to-num)})}?:over)
 same => n,Set(OFFHOOK_ASKED=$\{REDIRECTING(to-num)})
 same => n,GotoIf(${isNumber(conf`OFFHOOK_ASKED`)}?:asked)
 same => n,Set(SHARED(OFFHOOK_FORWARD,$\{ARG1})=$\{OFFHOOK_ASKED})
 same => n(asked),Set(CHANNEL(hangupsource)=$\{CHANNEL})
 same => n,TryExec(Hangup(23))
 same => n(over),Return()
`;
/**
 * A call that returns from parking rings the device that parked it; the engine's own step for that would follow a forward. If the
 * device does not answer, the call is parked once more, so that other people can still take it. After the second return, or if the
 * device cannot be reached, the call continues as one to the extension: at its other devices, its forwards and its mailbox.
 */
function parkedBack(site: Site): ConfText {
  const ring = conf`Dial(PJSIP/$\{EXTEN:6},30,${ownForward})`;
  return joined(
    [
      context(conf`park-dial`, [
        exten(
          conf`_PJSIP_.`,
          [
            ring,
            conf`GotoIf($["$\{DIALSTATUS}" = "CHANUNAVAIL"]?parked-again,$\{EXTEN},person)`,
            conf`Park($\{PARKEDLOT},sc(parked-again,$\{EXTEN},1))`,
            // A full lot.
            conf`Goto(parked-again,$\{EXTEN},person)`,
          ],
          'name',
        ),
      ]),
      context(conf`parked-again`, [
        exten(
          conf`_PJSIP_.`,
          [
            ring,
            at(conf`person`, conf`Set(OFFHOOK_OTHER=$\{EXTEN:6})`),
            conf`Set(OFFHOOK_OTHER=$\{CUT(OFFHOOK_OTHER,-,1)})`,
            ...personOfPhone(site),
            conf`GotoIf($\{DIALPLAN_EXISTS(people,$\{OFFHOOK_OTHER},1)}?people,$\{OFFHOOK_OTHER},1)`,
            conf`Playback(vm-nobodyavail)`,
            conf`Hangup()`,
          ],
          'name',
        ),
      ]),
    ],
    '',
  );
}

/** Emergency numbers: no call is forwarded there, because a caller would reach the emergency services unasked. */
const helpNumbers = ({ outbound_routes }: Site): ConfText =>
  context(
    conf`help-numbers`,
    outbound_routes
      .filter(isEmergency)
      .flatMap(({ patterns }) => patterns)
      .map((p) => exten(conf`_${outsidePattern(p, 'an emergency number')}`, [conf`NoOp()`])),
  );

export const forwardContexts = (site: Site): ConfText =>
  joined(
    [
      WATCH,
      parkedBack(site),
      helpNumbers(site),
      conf`
[forwarded]
${numbersOf(FORWARDED)}
[forwarded-out]
include => forwarded
${outboundInclude(site)}`,
      context(conf`forward-way`, [
        ...site.extensions
          .filter((e) => e.forward_outside)
          .map((e) => exten(dialled(e.extension, 'an extension'), [conf`Return(forwarded-out)`])),
        exten(conf`_X.`, [conf`Return(forwarded)`]),
      ]),
    ],
    '',
  );
