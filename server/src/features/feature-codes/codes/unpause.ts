import type { FeatureCode } from '../../../ports/site.ts';
import { MEMBER, answers, checkCaller } from './agent-steps.ts';

export const unpause: FeatureCode = {
  id: 'agent.unpause',
  patterns: ['*23'],
  title: 'Ready',
  about: 'Ends your pause in every queue you are in.',
  dialplan: () => [
    ...checkCaller,
    { app: 'UnpauseQueueMember', data: `,${MEMBER}` },
    { app: 'GotoIf', data: '$["${UPQMSTATUS}" = "UNPAUSED"]?done:refused' },
    ...answers,
  ],
};
