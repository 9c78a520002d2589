import type { FeatureCode } from '../../../ports/site.ts';
import { answers, checkCaller } from './agent-steps.ts';

/** What is dialled behind the code can be anything; only digits are kept, and only where they lead somewhere now. */
export const forward: FeatureCode = {
  id: 'forward.on',
  patterns: ['_*72X.'],
  title: 'Forward',
  about:
    '`*72<number>` leads your calls to that number instead of ringing your devices; calls of a queue still ring them.',
  dialplan: () => [
    ...checkCaller,
    { app: 'GotoIf', data: '$["${REGEX("^[0-9]+$" ${EXTEN:3})}" = "1"]?:refused' },
    { app: 'GotoIf', data: '$["${EXTEN:3}" = "${OFFHOOK_EXTENSION}"]?refused' },
    { app: 'Gosub', data: 'forward-way,${OFFHOOK_EXTENSION},1' },
    { app: 'GotoIf', data: '${DIALPLAN_EXISTS(${GOSUB_RETVAL},${EXTEN:3},1)}?:refused' },
    { app: 'Set', data: 'DB(offhook-forward/${OFFHOOK_EXTENSION})=${EXTEN:3}' },
    { app: 'Goto', data: 'done' },
    ...answers,
  ],
};
export const forwardOff: FeatureCode = {
  id: 'forward.off',
  patterns: ['*73'],
  title: 'Do not forward',
  about: 'Lets your devices ring again.',
  dialplan: () => [
    ...checkCaller,
    { app: 'Set', data: 'OFFHOOK_FORWARD=${DB_DELETE(offhook-forward/${OFFHOOK_EXTENSION})}' },
    { app: 'Goto', data: 'done' },
    ...answers,
  ],
};
