/** The fixed contexts behind the verbs for calls (actions/calls.ts): nothing but digits and ids reaches them. */
import { conf, joined } from './text.ts';
import type { ConfText } from './text.ts';

/**
 * A call that is placed for somebody. The far half of an internal pair rings the own devices of OFFHOOK_FOR, which are shown
 * the number that will be called; the one that answers leaves the pair (option G) and calls the number by itself, so that
 * from then on it is a caller like any other and no half of the pair stays in the call.
 */
const PLACED_CALLS: ConfText = conf`
[place-call]
exten => _X.,1,Set(CALLERID(all)=<$\{EXTEN}>)
 same => n,Gosub($\{OFFHOOK_DEVICES},$\{OFFHOOK_FOR},1)
 same => n,Dial($\{GOSUB_RETVAL},$\{OFFHOOK_RING},G(placed-call^$\{EXTEN}^1))
 same => n,Hangup($\{HANGUPCAUSE})

[placed-call]
exten => _X.,1,Hangup()
 same => n,Set(CALLERID(num)=$\{OFFHOOK_FROM})
 same => n,ExecIf($["$\{OFFHOOK_LIMIT}" != ""]?Set(TIMEOUT(absolute)=$\{OFFHOOK_LIMIT}))
 same => n,Goto(reach,$\{EXTEN},1)

[placed-pair]
exten => s,1,Wait(3600)

[reach]
include => people
include => queues
include => services
include => parkedcalls
`;

export const callContexts: ConfText = joined([PLACED_CALLS], '');
