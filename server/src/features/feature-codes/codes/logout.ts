import type { FeatureCode } from '../../../ports/site.ts';
import { MEMBER, answers, findQueues, inEachQueue } from './agent-steps.ts';

/** Being out already is a success; a member by configuration cannot leave, which is a refusal. */
export const logout: FeatureCode = {
  id: 'agent.logout',
  patterns: ['*80', '_*80X.'],
  title: 'Log out',
  about:
    'Logs you out of all your queues; `*80<queue number>` of that one. A queue you belong to permanently refuses.',
  dialplan: () => [
    ...findQueues,
    ...inEachQueue({ app: 'RemoveQueueMember', data: `\${OFFHOOK_QUEUE},${MEMBER}` }, 'RQMSTATUS', [
      'REMOVED',
      'NOTINQUEUE',
    ]),
    ...answers,
  ],
};
