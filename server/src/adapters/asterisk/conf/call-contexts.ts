/** The fixed contexts and keys behind the verbs for calls (actions/calls.ts): nothing but digits and ids reaches them. */
import type { Placed } from '@offhook/contract/directions.ts';
import { guard, guarded } from './dialplan-text.ts';
import { conf, joined } from './text.ts';
import type { ConfText } from './text.ts';

/**
 * Keys that no phone has; the engine receives them as if the device of a leg had sent them. Only the legs of our phones react to
 * them. `cancel` and `threeway` begin with a key that has no meaning during a consultation.
 */
export const KEYS = {
  hold: conf`A`,
  complete: conf`B`,
  swap: conf`C`,
  consult: conf`D`,
  cancel: conf`DA`,
  threeway: conf`DD`,
} as const;
/** Name of the feature behind `KEYS.hold`. */
const HOLD = conf`hold`;
/** Context of the other side of a held leg: its exten is the id of the channel that holds it (events/hold.ts). */
export const HOLD_CONTEXT = 'held-by';
/** Destination of the test call of the service to itself (health-call.ts). */
export const HEALTH_CONTEXT = 'health';
/** Accounts of the phones that the doctor registers, and the destination of their calls. */
export const DOCTOR = 'doctor';
export const DOCTOR_WEB = 'doctor-web';
export const DOCTOR_EXTEN = 'echo';
export const healthContext: ConfText = conf`
[health]
exten => s,1,Answer()
 same => n,Hangup()
exten => near,1,Hangup()
exten => echo,1,Answer()
 same => n,Set(TIMEOUT(absolute)=30)
 same => n,Echo()
`;
/** Context in which a number that a person chose is looked up. */
export const REACH_CONTEXT = 'reach';

/** Number of a device that rings for its own person: letters, because a feature code accepts none. */
export const RUNG = 'ownring';
const rung = conf`ownring`;
/** Placeholders that the engine uses for a missing number. */
export const NO_NUMBERS: ReadonlySet<string> = new Set(['s', RUNG]);

/** Contexts of pairs whose far half rings the own devices, by purpose. */
export const PLACE_CONTEXTS: Readonly<Record<Placed, string>> = {
  call: 'place-call',
  pickup: 'place-pickup',
  listen: 'place-listen',
};
/** Contexts of a supervisor who listens to a call, or will listen once the own device has answered. */
export const LISTENING_CONTEXTS: ReadonlySet<string> = new Set([
  'place-listen',
  'placed-listen',
  'placed-whisper',
  'placed-barge',
]);

/** Group pickup is a feature code like the others, so the number built into the channel driver leads nowhere. */
export const featuresConf: ConfText = conf`
[general]
pickupexten = off
atxferabort = ${KEYS.cancel}
atxfercomplete = ${KEYS.complete}
atxferswap = ${KEYS.swap}
atxferthreeway = ${KEYS.threeway}
atxfernoanswertimeout = 30

[featuremap]
blindxfer =>
disconnect =>
atxfer => ${KEYS.consult}

[applicationmap]
${HOLD} => ${KEYS.hold},peer,Gosub,"held-by,s,1"
`;
/** Variables on the channels of a phone that make them react to `KEYS.hold`; Dial and Queue have options for the other keys. */
export const phoneFeatures: ConfText = conf`set_var = DYNAMIC_FEATURES=${HOLD}
`;
/** Option of every Dial of a phone: the engine does not follow a forward in the phone's answer (forward-contexts.ts). */
export const ownForward: ConfText = conf`i`;
export const calledPhone: ConfText = conf`t`;
export const callingPhone: ConfText = conf`$\{IF($["$\{OFFHOOK_EXTENSION}" = ""]?:T)}`;

/**
 * A call that the service places for an extension. The far half of an internal pair rings the extension's own devices
 * (OFFHOOK_FOR), which show the number. Other phones cannot pick these calls up, because a person who did would listen in the
 * place of a supervisor: the devices are in no pick-up group, and they get the exten of the half that rings them, `RUNG`, which no
 * code accepts. The device that answers leaves the pair (option G) and goes on alone, so that it is a caller like any other and no half
 * of the pair stays in the call. It waits until the half that rang it has ended, because that half reads the channel once more
 * after it released it. It begins at the second step of `placed`, as option G requires.
 */
const PLACED: ConfText = conf`
[place-call]
exten => _[+0-9].,1,${guard()}
 same => n,Set(CALLERID(all)=<$\{EXTEN}>)
 same => n,Set(OFFHOOK_NUMBER=$\{EXTEN})
 same => n,Gosub($\{OFFHOOK_DEVICES},$\{OFFHOOK_FOR},1)
 same => n,Goto(${rung},1)
 same => n${guarded}
exten => ${rung},1,Dial($\{GOSUB_RETVAL},$\{OFFHOOK_RING},b(place-own^s^1)iG(placed^$\{OFFHOOK_NUMBER}^1))
 same => n,Hangup($\{HANGUPCAUSE})

[place-own]
exten => s,1,Set(CHANNEL(namedcallgroup)=)
 same => n,Return()

[place-pickup]
include => place-call

[place-listen]
include => place-call

[placed]
exten => _[+0-9].,1,Hangup()
 same => n,${guard()}
 same => n,WaitForCondition(#,#["#{CHANNEL_EXISTS($\{OFFHOOK_PAIR})}" != "1"],5,0.02)
 same => n,Goto(placed-$\{OFFHOOK_DOES},$\{EXTEN},1)
 same => n${guarded}

[placed-call]
exten => _[+0-9].,1,${guard()}
 same => n,Set(CALLERID(num)=$\{OFFHOOK_FROM})
 same => n,ExecIf($["$\{OFFHOOK_LIMIT}" != ""]?Set(TIMEOUT(absolute)=$\{OFFHOOK_LIMIT}))
 same => n,Goto(reach,$\{EXTEN},1)
 same => n${guarded}

[placed-pickup]
exten => _[+0-9].,1,${guard()}
 same => n,PickupChan($\{OFFHOOK_CHANNEL})
 same => n,Hangup()
 same => n${guarded}

[placed-listen]
exten => _[+0-9].,1,${guard()}
 same => n,ChanSpy($\{OFFHOOK_CHANNEL},uqES)
 same => n,Hangup()
 same => n${guarded}

[placed-whisper]
exten => _[+0-9].,1,${guard()}
 same => n,ChanSpy($\{OFFHOOK_CHANNEL},uqESw)
 same => n,Hangup()
 same => n${guarded}

[placed-barge]
exten => _[+0-9].,1,${guard()}
 same => n,ChanSpy($\{OFFHOOK_CHANNEL},uqESB)
 same => n,Hangup()
 same => n${guarded}

[placed-pair]
exten => s,1,Wait(3600)
`;
/**
 * Music for the other side, in its own place in the bridge, until the variable with the holder's name changes or the holder
 * has ended. The dialplan reads both twenty times a second, for at most two hours.
 */
const HELD: ConfText = conf`
[held-by]
exten => s,1,GotoIf($["$\{OFFHOOK_HELD_BY}" = ""]?nobody)
 same => n,Goto($\{OFFHOOK_HELD_BY},1)
 same => n(nobody),Return()
exten => _[0-9A-Za-z]!,1,${guard('name')}
 same => n,StartMusicOnHold()
 same => n,WaitForCondition(#,#["#{OFFHOOK_HELD_BY}" != "$\{EXTEN}" | "#{CHANNEL_EXISTS($\{EXTEN})}" != "1"],7200,0.05)
 same => n,StopMusicOnHold()
 same => n,Return()
 same => n${guarded}
exten => i,1,Return()
`;

export const callContexts: ConfText = joined([PLACED, HELD], '');
