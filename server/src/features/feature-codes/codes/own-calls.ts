import type { DialplanStep, FeatureCode } from '../../../ports/site.ts';
import { answers, checkCaller } from './agent-steps.ts';

const keep = (key: string, value: string): DialplanStep => ({
  app: 'Gosub',
  data: `keep-feature,s,1(${key},${value})`,
});
/** What is dialled behind the code can be anything; only digits are kept, and only where they lead somewhere now. */
const on = (key: string): readonly DialplanStep[] => [
  ...checkCaller,
  { app: 'GotoIf', data: '$["${REGEX("^[0-9]+$" ${EXTEN:3})}" = "1"]?:refused' },
  { app: 'GotoIf', data: '$[${LEN(${EXTEN:3})} > 32]?refused' },
  { app: 'GotoIf', data: '$["${EXTEN:3}" = "${OFFHOOK_EXTENSION}"]?refused' },
  { app: 'Gosub', data: 'forward-way,${OFFHOOK_EXTENSION},1' },
  { app: 'GotoIf', data: '${DIALPLAN_EXISTS(${GOSUB_RETVAL},${EXTEN:3},1)}?:refused' },
  keep(key, '${EXTEN:3}'),
  { app: 'Goto', data: 'done' },
  ...answers,
];
const off = (key: string): readonly DialplanStep[] => [
  ...checkCaller,
  keep(key, ''),
  { app: 'Goto', data: 'done' },
  ...answers,
];

export const forward: FeatureCode = {
  id: 'forward.on',
  patterns: ['_*72X.'],
  title: 'Forward',
  about:
    '`*72<number>` leads your calls to that number instead of ringing your devices; calls of a queue still ring them.',
  dialplan: () => on('forward'),
};
export const forwardOff: FeatureCode = {
  id: 'forward.off',
  patterns: ['*73'],
  title: 'Do not forward',
  about: 'Lets your devices ring again.',
  dialplan: () => off('forward'),
};
export const forwardBusy: FeatureCode = {
  id: 'forward_busy.on',
  patterns: ['_*90X.'],
  title: 'Forward when busy',
  about: '`*90<number>` leads a call there when you are busy, refuse it or do not want to be disturbed.',
  dialplan: () => on('busy'),
};
export const forwardBusyOff: FeatureCode = {
  id: 'forward_busy.off',
  patterns: ['*91'],
  title: 'Do not forward when busy',
  about: 'A call that finds you busy is no longer led elsewhere.',
  dialplan: () => off('busy'),
};
export const forwardNoAnswer: FeatureCode = {
  id: 'forward_no_answer.on',
  patterns: ['_*92X.'],
  title: 'Forward when unanswered',
  about: '`*92<number>` leads a call there that nobody answers, or that finds no device of yours.',
  dialplan: () => on('noanswer'),
};
export const forwardNoAnswerOff: FeatureCode = {
  id: 'forward_no_answer.off',
  patterns: ['*93'],
  title: 'Do not forward when unanswered',
  about: 'A call that nobody answers is no longer led elsewhere.',
  dialplan: () => off('noanswer'),
};
export const doNotDisturb: FeatureCode = {
  id: 'dnd.on',
  patterns: ['*78'],
  title: 'Do not disturb',
  about: 'Your devices do not ring; callers find you busy, and queues leave you out.',
  dialplan: () => [...checkCaller, keep('dnd', '1'), { app: 'Goto', data: 'done' }, ...answers],
};
export const doNotDisturbOff: FeatureCode = {
  id: 'dnd.off',
  patterns: ['*79'],
  title: 'Take calls again',
  about: 'Ends `*78`.',
  dialplan: () => off('dnd'),
};
