import type { DialplanStep, FeatureCode, Site } from '../../../ports/site.ts';
import { MEMBER, answers, checkCaller } from './agent-steps.ts';

/**
 * Leaves the reason in OFFHOOK_REASON: the n-th for `*22<n>`, the first for `*22`. A site may have none at all; one that only a
 * supervisor may give keeps its number and is refused.
 */
function findReason(site: Site): readonly DialplanStep[] {
  if (site.pause_reasons.length === 0) {
    return [{ app: 'GotoIf', data: '${LEN(${EXTEN:3})}?refused' }];
  }
  return [
    {
      app: 'Set',
      data: `OFFHOOK_REASONS=${site.pause_reasons.map((r) => (r.supervisor_only ? '' : r.id)).join('&')}`,
    },
    { app: 'Set', data: 'OFFHOOK_REASON=${CUT(OFFHOOK_REASONS,&,${IF(${LEN(${EXTEN:3})}?${EXTEN:3}:1)})}' },
    { app: 'GotoIf', data: '$["${OFFHOOK_REASON}" = ""]?refused' },
  ];
}

/** Without a queue name the engine pauses the member wherever it is one, in one step, and says whether it was anywhere. */
export const pause: FeatureCode = {
  id: 'agent.pause',
  patterns: ['*22', '_*22Z', '_*22ZX'],
  title: 'Pause',
  about: 'Pauses you in every queue you are in. `*22` gives the first reason, `*22<n>` the n-th.',
  dialplan: (site) => [
    ...checkCaller,
    ...findReason(site),
    { app: 'PauseQueueMember', data: `,${MEMBER},,\${OFFHOOK_REASON}` },
    { app: 'GotoIf', data: '$["${PQMSTATUS}" = "PAUSED"]?done:refused' },
    ...answers,
  ],
};
