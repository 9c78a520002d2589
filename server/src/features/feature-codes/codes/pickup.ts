import type { DialplanStep, FeatureCode } from '../../../ports/site.ts';
import { checkCaller } from './agent-steps.ts';

/** A pick-up that finds nothing comes back to the dialplan; one that succeeds never does. */
const nothing: readonly DialplanStep[] = [
  { label: 'refused', app: 'Playback', data: 'im-sorry' },
  { app: 'Hangup' },
];
export const pickupGroup: FeatureCode = {
  id: 'pickup.group',
  patterns: ['*8'],
  title: 'Pick up',
  about: "Answers a colleague's ringing call in your pick-up group.",
  dialplan: () => [{ app: 'Pickup' }, ...nothing],
};
/** The same people as by the API (features/calls/place.ts): supervisors everywhere, others in their own group. */
export const pickupExtension: FeatureCode = {
  id: 'pickup.extension',
  patterns: ['_**X.'],
  title: 'Pick up an extension',
  about:
    '`**<extension>` answers the call that rings there. It must be of your pick-up group, unless you are a supervisor.',
  dialplan: () => [
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
  ],
};
