/** Converts features between the API and the engine port. */
import type { Features, FeaturesChange, PhoneMode } from '@offhook/contract/features.ts';
import type { ExtensionFeatures, RingingDevices } from '../../ports/engine-state.ts';

export type FeatureChanges = Partial<Omit<ExtensionFeatures, 'changed_at'>>;

const DEVICES_OF: Readonly<Record<PhoneMode, RingingDevices>> = {
  all: 'all',
  desk: 'sip',
  softphone: 'webrtc',
  mobile: 'mobile',
  'desk,softphone': 'sip-webrtc',
  'desk,mobile': 'sip-mobile',
  'softphone,mobile': 'webrtc-mobile',
};
const MODE_OF = Object.fromEntries(
  Object.entries(DEVICES_OF).map(([mode, devices]) => [devices, mode]),
) as Readonly<Record<RingingDevices, PhoneMode>>;
const [SHORTEST, LONGEST] = [5, 120];

/** Ring times outside the range of the contract, written into the engine's store by hand, are shown as its limits. */
export const featuresOf = (extension: string, f: ExtensionFeatures): Features => ({
  extension,
  dnd_enabled: f.dnd,
  call_forward_number: f.forward,
  cf_busy_number: f.forward_busy,
  cf_noanswer_number: f.forward_no_answer,
  cf_noanswer_timeout: Math.min(LONGEST, Math.max(SHORTEST, f.ring_seconds)),
  allowed_phone_mode: MODE_OF[f.devices],
});
export function changesOf(change: FeaturesChange): FeatureChanges {
  const { dnd_enabled, call_forward_number, cf_busy_number, cf_noanswer_number } = change;
  const { cf_noanswer_timeout, phone_modes, allowed_phone_mode } = change;
  const mode = phone_modes ?? allowed_phone_mode;
  return {
    ...(dnd_enabled === undefined ? {} : { dnd: dnd_enabled }),
    ...(call_forward_number === undefined ? {} : { forward: call_forward_number }),
    ...(cf_busy_number === undefined ? {} : { forward_busy: cf_busy_number }),
    ...(cf_noanswer_number === undefined ? {} : { forward_no_answer: cf_noanswer_number }),
    ...(cf_noanswer_timeout === undefined ? {} : { ring_seconds: cf_noanswer_timeout }),
    ...(mode === undefined ? {} : { devices: DEVICES_OF[mode] }),
  };
}
export const holds = (f: ExtensionFeatures, changes: FeatureChanges): boolean =>
  Object.entries(changes).every(([key, value]) => f[key as keyof FeatureChanges] === value);
export function valuesOf(features: ExtensionFeatures): Required<FeatureChanges> {
  const { dnd, forward, forward_busy, forward_no_answer, ring_seconds, devices } = features;
  return { dnd, forward, forward_busy, forward_no_answer, ring_seconds, devices };
}
/** True if the settings and the time of the change are equal. */
export const isSame = (a: ExtensionFeatures, b: ExtensionFeatures): boolean =>
  a.changed_at === b.changed_at && holds(a, valuesOf(b));
