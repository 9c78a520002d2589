/**
 * Steps of the dialplan for each feature code, so that it works while the service is down. A step may use what
 * the renderer leaves for it:
 * - variable `OFFHOOK_EXTENSION`: the extension of the endpoint that dials, empty for anything else; never caller ID;
 * - global variable `PENALTY_<extension>_<queue name>`: the penalty of an agent who has one in that queue;
 * - context `agent-queues`: `Gosub(agent-queues,<extension>,1)` leaves the names of the extension's queues, joined by `&`, in
 *   `GOSUB_RETVAL`; a last name of `+` and a number stands for further names: `Gosub(agent-queues,<extension>+<number>,1)`;
 *   `<extension>*<queue number>` leaves the one name. Test with `DIALPLAN_EXISTS` before;
 * - context `forward-way`: `Gosub(forward-way,<extension>,1)` leaves the context in which a number must be there for the calls of
 *   the extension to be forwarded to it; context `help-numbers`: the numbers to which no call is forwarded;
 * - context `pickup-group`: `Gosub(pickup-group,<extension>,1)` leaves the pick-up group of an extension that has one; extensions
 *   in `pickup-everywhere` may pick up every call. Test with `DIALPLAN_EXISTS` before;
 * - context `pause-reasons`: `Gosub(pause-reasons,<n>,1)` leaves the id of the n-th reason, if not only supervisors may give it;
 * - context `may-block`: the extensions that may block callers; `Gosub(block-last,s,1)` blocks the last one of the caller and leaves its digits in `GOSUB_RETVAL`;
 * - context `switches`, where time conditions can be switched: `Gosub(switches,<number>,1)` leaves 1, nothing or `refused`;
 * - contexts `sign-in` and `sign-out`, where the site has shared phones; `OFFHOOK_TYPED` is the extension that signs in;
 * - context `keep-feature`: `Gosub(keep-feature,s,1(<key>,<value>))` keeps what the caller set for its own calls, an empty value
 *   to remove it, and reports it to the service.
 */
import type { CallSetting, CodeAction, Site } from '../../../ports/site.ts';

/** One application call; a label is in lower case. */
export interface DialplanStep {
  readonly label?: string;
  readonly app: string;
  readonly data?: string;
}

/** The caller as a queue member, written as the service writes it, so that both see one member. */
const MEMBER = 'Local/${OFFHOOK_EXTENSION}@queue-agent';
const MEMBER_STATE = 'hint:${OFFHOOK_EXTENSION}@hints';
/** The service's reason of a pause while a member is added; adapters import nothing of `pbx/`. */
const LOGIN = 'login';
/** The key under which `keep-feature` keeps each setting. */
const KEYS: Readonly<Record<CallSetting, string>> = {
  dnd: 'dnd',
  forward: 'forward',
  forward_busy: 'busy',
  forward_no_answer: 'noanswer',
};

/**
 * A feature code must not act for a caller without an extension of its own, or for one that another person transferred here: a
 * transfer of a colleague's call to `*22` would pause the colleague.
 */
const checkCaller: readonly DialplanStep[] = [
  { app: 'GotoIf', data: '$["${OFFHOOK_EXTENSION}" = "" | "${BLINDTRANSFER}" != ""]?refused' },
];
/** Leaves the queues to act in, in OFFHOOK_QUEUES: all of the caller's, or the one whose number follows the code. */
const findQueues: readonly DialplanStep[] = [
  ...checkCaller,
  { app: 'Set', data: 'OFFHOOK_KEY=${OFFHOOK_EXTENSION}${IF(${LEN(${EXTEN:3})}?*)}${EXTEN:3}' },
  { app: 'GotoIf', data: '${DIALPLAN_EXISTS(agent-queues,${OFFHOOK_KEY},1)}?:refused' },
  { app: 'Gosub', data: 'agent-queues,${OFFHOOK_KEY},1' },
  { app: 'Set', data: 'OFFHOOK_QUEUES=${GOSUB_RETVAL}' },
  { app: 'Set', data: 'OFFHOOK_REFUSED=0' },
];
/** Shifts a name from a list to OFFHOOK_QUEUE, and reads the next part of the list where this one is over. */
const shift = (label: string, list: string, named: string, end: string): readonly DialplanStep[] => [
  { label, app: 'Set', data: `OFFHOOK_QUEUE=\${SHIFT(${list},&)}` },
  { app: 'GotoIf', data: `$["\${OFFHOOK_QUEUE}" = ""]?${end}` },
  { app: 'GotoIf', data: `$["x\${OFFHOOK_QUEUE:0:1}" = "x+"]?:${named}` },
  { app: 'Gosub', data: 'agent-queues,${OFFHOOK_EXTENSION}${OFFHOOK_QUEUE},1' },
  { app: 'Set', data: `${list}=\${GOSUB_RETVAL}` },
  { app: 'Goto', data: label },
  { label: named, app: 'NoOp' },
];
/** Does `steps` for each name in OFFHOOK_QUEUES, and remembers a `result` that is none of `good`. */
const inEachQueue = (
  steps: readonly DialplanStep[],
  result: string,
  good: readonly string[],
): readonly DialplanStep[] => [
  ...shift('next', 'OFFHOOK_QUEUES', 'one', 'end'),
  ...steps,
  {
    app: 'ExecIf',
    data: `$[${good.map((word) => `"\${${result}}" != "${word}"`).join(' & ')}]?Set(OFFHOOK_REFUSED=1)`,
  },
  { app: 'Goto', data: 'next' },
  { label: 'end', app: 'GotoIf', data: '${OFFHOOK_REFUSED}?refused:done' },
];
/** One sound for success, another for failure; the engine's own result is known before either is played. */
const answers: readonly DialplanStep[] = [
  { label: 'done', app: 'Answer' },
  { app: 'Playback', data: 'auth-thankyou' },
  { app: 'Hangup' },
  { label: 'refused', app: 'Answer' },
  { app: 'Playback', data: 'im-sorry' },
  { app: 'Hangup' },
];
/** A pick-up that finds no call returns to the dialplan; a successful one does not return. */
const nothing: readonly DialplanStep[] = [
  { label: 'refused', app: 'Playback', data: 'im-sorry' },
  { app: 'Hangup' },
];

const noPhone: readonly DialplanStep[] = [
  { app: 'Answer' },
  { app: 'Playback', data: 'im-sorry' },
  { app: 'Hangup' },
];

/**
 * Being in already is a success that changes nothing. An agent that is paused in any queue, also for its wrap-up, joins the
 * others paused, so that they do not ring it; the service then gives this pause its reason or ends it. The engine's function
 * for members logs an error for a queue without the agent, so the steps read the state that the engine keeps of each pause.
 */
const logIn: readonly DialplanStep[] = [
  ...findQueues,
  { app: 'Gosub', data: 'agent-queues,${OFFHOOK_EXTENSION},1' },
  { app: 'Set', data: 'OFFHOOK_OTHERS=${GOSUB_RETVAL}' },
  { app: 'Set', data: 'OFFHOOK_JOIN=' },
  ...shift('look', 'OFFHOOK_OTHERS', 'other', 'next'),
  {
    app: 'GotoIf',
    data: `$["\${DEVICE_STATE(Queue:\${OFFHOOK_QUEUE}_pause_${MEMBER})}" = "INUSE"]?:look`,
  },
  { app: 'Set', data: `OFFHOOK_JOIN=pr(${LOGIN})` },
  ...inEachQueue(
    [
      {
        app: 'AddQueueMember',
        data: `\${OFFHOOK_QUEUE},${MEMBER},\${PENALTY_\${OFFHOOK_EXTENSION}_\${OFFHOOK_QUEUE}},\${OFFHOOK_JOIN},\${OFFHOOK_EXTENSION},${MEMBER_STATE}`,
      },
      // Asterisk 22.0 and 22.1 add no paused member.
      {
        app: 'ExecIf',
        data: `$["\${AQMSTATUS}" = "ADDED" & "\${OFFHOOK_JOIN}" != ""]?PauseQueueMember(\${OFFHOOK_QUEUE},${MEMBER},,${LOGIN})`,
      },
    ],
    'AQMSTATUS',
    ['ADDED', 'MEMBERALREADY'],
  ),
  ...answers,
];
/** Being out already is a success; a member by configuration cannot leave, which is a refusal. */
const logOut: readonly DialplanStep[] = [
  ...findQueues,
  ...inEachQueue([{ app: 'RemoveQueueMember', data: `\${OFFHOOK_QUEUE},${MEMBER}` }], 'RQMSTATUS', [
    'REMOVED',
    'NOTINQUEUE',
  ]),
  ...answers,
];
/**
 * Leaves the reason in OFFHOOK_REASON: the n-th for `*22<n>`, the first for `*22`. A site may have none at all; one that only a
 * supervisor may give keeps its number and is refused.
 */
function findReason({ pause_reasons }: Site): readonly DialplanStep[] {
  if (pause_reasons.length === 0) return [{ app: 'GotoIf', data: '${LEN(${EXTEN:3})}?refused' }];
  return [
    { app: 'Set', data: 'OFFHOOK_KEY=${IF(${LEN(${EXTEN:3})}?${EXTEN:3}:1)}' },
    { app: 'GotoIf', data: '${DIALPLAN_EXISTS(pause-reasons,${OFFHOOK_KEY},1)}?:refused' },
    { app: 'Gosub', data: 'pause-reasons,${OFFHOOK_KEY},1' },
    { app: 'Set', data: 'OFFHOOK_REASON=${GOSUB_RETVAL}' },
  ];
}
/** Without a queue name the engine pauses the member wherever it is one, in one step, and reports whether it was a member. */
const pause = (site: Site): readonly DialplanStep[] => [
  ...checkCaller,
  ...findReason(site),
  { app: 'PauseQueueMember', data: `,${MEMBER},,\${OFFHOOK_REASON}` },
  { app: 'GotoIf', data: '$["${PQMSTATUS}" = "PAUSED"]?done:refused' },
  ...answers,
];
const unpause: readonly DialplanStep[] = [
  ...checkCaller,
  { app: 'UnpauseQueueMember', data: `,${MEMBER}` },
  { app: 'GotoIf', data: '$["${UPQMSTATUS}" = "UNPAUSED"]?done:refused' },
  ...answers,
];
/** The same people as by the API (features/calls/place.ts): supervisors everywhere, others in their own group. */
const pickUpExtension: readonly DialplanStep[] = [
  ...checkCaller,
  { app: 'GotoIf', data: '${DIALPLAN_EXISTS(pickup-everywhere,${OFFHOOK_EXTENSION},1)}?take' },
  { app: 'GotoIf', data: '${DIALPLAN_EXISTS(pickup-group,${OFFHOOK_EXTENSION},1)}?:refused' },
  { app: 'GotoIf', data: '${DIALPLAN_EXISTS(pickup-group,${EXTEN:2},1)}?:refused' },
  { app: 'Gosub', data: 'pickup-group,${OFFHOOK_EXTENSION},1' },
  { app: 'Set', data: 'OFFHOOK_PICKUP=${GOSUB_RETVAL}' },
  { app: 'Gosub', data: 'pickup-group,${EXTEN:2},1' },
  { app: 'GotoIf', data: '$["${OFFHOOK_PICKUP}" = "${GOSUB_RETVAL}"]?take:refused' },
  { label: 'take', app: 'Pickup', data: '${EXTEN:2}@internal' },
  ...nothing,
];
const keep = (setting: CallSetting, value: string): DialplanStep => ({
  app: 'Gosub',
  data: `keep-feature,s,1(${KEYS[setting]},${value})`,
});
/** The digits after the code can be anything; they are accepted only if they match a present target. */
const checkNumber: readonly DialplanStep[] = [
  { app: 'GotoIf', data: '$["${REGEX("^[0-9]+$" ${EXTEN:3})}" = "1"]?:refused' },
  { app: 'GotoIf', data: '$[${LEN(${EXTEN:3})} > 32]?refused' },
  { app: 'GotoIf', data: '$["${EXTEN:3}" = "${OFFHOOK_EXTENSION}"]?refused' },
  { app: 'Gosub', data: 'forward-way,${OFFHOOK_EXTENSION},1' },
  { app: 'GotoIf', data: '${DIALPLAN_EXISTS(${GOSUB_RETVAL},${EXTEN:3},1)}?:refused' },
  { app: 'GotoIf', data: '${DIALPLAN_EXISTS(help-numbers,${EXTEN:3},1)}?refused' },
];

/** The steps for the matched pattern. */
export function codeSteps(does: CodeAction, site: Site): readonly DialplanStep[] {
  switch (does.action) {
    case 'log_in':
      return logIn;
    case 'log_out':
      return logOut;
    case 'pause':
      return pause(site);
    case 'unpause':
      return unpause;
    case 'pick_up_group':
      return [{ app: 'Pickup' }, ...nothing];
    case 'pick_up_extension':
      return pickUpExtension;
    case 'block_caller':
      return [
        ...checkCaller,
        { app: 'GotoIf', data: '${DIALPLAN_EXISTS(may-block,${OFFHOOK_EXTENSION},1)}?:refused' },
        { app: 'Gosub', data: 'block-last,s,1' },
        { app: 'GotoIf', data: '${LEN(${GOSUB_RETVAL})}?:refused' },
        { app: 'Answer' },
        { app: 'Playback', data: 'privacy-to-blacklist-last-caller' },
        { app: 'SayDigits', data: '${GOSUB_RETVAL}' },
        { app: 'Goto', data: 'done' },
        ...answers,
      ];
    case 'sign_in':
      return site.shared_phones.length === 0
        ? noPhone
        : [
            { app: 'Set', data: 'OFFHOOK_TYPED=${EXTEN:3}' },
            { app: 'Gosub', data: 'sign-in,s,1' },
            { app: 'Hangup' },
          ];
    case 'sign_out':
      return site.shared_phones.length === 0
        ? noPhone
        : [{ app: 'Gosub', data: 'sign-out,s,1' }, { app: 'Hangup' }];
    case 'night_switch':
      return [
        ...checkCaller,
        { app: 'GotoIf', data: '${DIALPLAN_EXISTS(switches,${EXTEN:3},1)}?:refused' },
        { app: 'Gosub', data: 'switches,${EXTEN:3},1' },
        { app: 'GotoIf', data: '$["${GOSUB_RETVAL}" = "refused"]?refused' },
        { app: 'Answer' },
        { app: 'Playback', data: '${IF(${LEN(${GOSUB_RETVAL})}?activated:de-activated)}' },
        { app: 'Hangup' },
        ...nothing,
      ];
    case 'set': {
      const { setting } = does;
      const kept = setting === 'dnd' ? [keep(setting, '1')] : [...checkNumber, keep(setting, '${EXTEN:3}')];
      return [...checkCaller, ...kept, { app: 'Goto', data: 'done' }, ...answers];
    }
    case 'clear':
      return [...checkCaller, keep(does.setting, ''), { app: 'Goto', data: 'done' }, ...answers];
  }
}
