import type { FeatureCode } from '../../../ports/site.ts';
import { MEMBER, MEMBER_STATE, answers, findQueues, inEachQueue } from './agent-steps.ts';

/** Being in already is a success that changes nothing. */
export const login: FeatureCode = {
  id: 'agent.login',
  patterns: ['*81', '_*81X.'],
  title: 'Log in',
  about: 'Logs you in to all your queues; `*81<queue number>` to that one.',
  dialplan: () => [
    ...findQueues,
    ...inEachQueue(
      {
        app: 'AddQueueMember',
        data: `\${OFFHOOK_QUEUE},${MEMBER},\${PENALTY_\${OFFHOOK_EXTENSION}_\${OFFHOOK_QUEUE}},,\${OFFHOOK_EXTENSION},${MEMBER_STATE}`,
      },
      'AQMSTATUS',
      ['ADDED', 'MEMBERALREADY'],
    ),
    ...answers,
  ],
};
