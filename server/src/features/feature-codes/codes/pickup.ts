import type { FeatureCode } from '../../../ports/site.ts';

/** A pick-up that finds nothing comes back to the dialplan; one that succeeds never does. */
export const pickupGroup: FeatureCode = {
  id: 'pickup.group',
  patterns: ['*8'],
  title: 'Pick up',
  about: "Answers a colleague's ringing call in your pick-up group.",
  dialplan: () => [{ app: 'Pickup' }, { app: 'Playback', data: 'im-sorry' }, { app: 'Hangup' }],
};
export const pickupExtension: FeatureCode = {
  id: 'pickup.extension',
  patterns: ['_**X.'],
  title: 'Pick up an extension',
  about: '`**<extension>` answers the call that rings there.',
  dialplan: () => [
    { app: 'Pickup', data: '${EXTEN:2}@internal' },
    { app: 'Playback', data: 'im-sorry' },
    { app: 'Hangup' },
  ],
};
