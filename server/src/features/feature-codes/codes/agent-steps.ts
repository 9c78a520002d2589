/** Steps that every agent code shares. */
import type { DialplanStep } from '../../../ports/site.ts';

/** The caller as a queue member, written as the service writes it, so that both see one member. */
export const MEMBER = 'Local/${OFFHOOK_EXTENSION}@queue-agent';
export const MEMBER_STATE = 'hint:${OFFHOOK_EXTENSION}@hints';

/**
 * A caller without an extension of its own, or one who was transferred here by another, must not act: whoever sends a
 * colleague's call to `*22` would pause the colleague.
 */
export const checkCaller: readonly DialplanStep[] = [
  { app: 'GotoIf', data: '$["${OFFHOOK_EXTENSION}" = "" | "${BLINDTRANSFER}" != ""]?refused' },
];
/** Leaves the queues to act in, in OFFHOOK_QUEUES: all of the caller's, or the one whose number follows the code. */
export const findQueues: readonly DialplanStep[] = [
  ...checkCaller,
  { app: 'Set', data: 'OFFHOOK_KEY=${OFFHOOK_EXTENSION}${IF(${LEN(${EXTEN:3})}?*)}${EXTEN:3}' },
  { app: 'GotoIf', data: '${DIALPLAN_EXISTS(agent-queues,${OFFHOOK_KEY},1)}?:refused' },
  { app: 'Gosub', data: 'agent-queues,${OFFHOOK_KEY},1' },
  { app: 'Set', data: 'OFFHOOK_QUEUES=${GOSUB_RETVAL}' },
  { app: 'Set', data: 'OFFHOOK_REFUSED=0' },
];
/** Does `step` for each name in OFFHOOK_QUEUES, and remembers a `result` that is none of `good`. */
export const inEachQueue = (
  step: DialplanStep,
  result: string,
  good: readonly string[],
): readonly DialplanStep[] => [
  { label: 'next', app: 'Set', data: 'OFFHOOK_QUEUE=${SHIFT(OFFHOOK_QUEUES,&)}' },
  { app: 'GotoIf', data: '$["${OFFHOOK_QUEUE}" = ""]?end' },
  step,
  {
    app: 'ExecIf',
    data: `$[${good.map((word) => `"\${${result}}" != "${word}"`).join(' & ')}]?Set(OFFHOOK_REFUSED=1)`,
  },
  { app: 'Goto', data: 'next' },
  { label: 'end', app: 'GotoIf', data: '${OFFHOOK_REFUSED}?refused:done' },
];
/** One sound for what was done, another for what was not; the engine's own result has decided before either is heard. */
export const answers: readonly DialplanStep[] = [
  { label: 'done', app: 'Answer' },
  { app: 'Playback', data: 'auth-thankyou' },
  { app: 'Hangup' },
  { label: 'refused', app: 'Answer' },
  { app: 'Playback', data: 'im-sorry' },
  { app: 'Hangup' },
];
