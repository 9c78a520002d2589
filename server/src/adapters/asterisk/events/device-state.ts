import type { DeviceState } from '../../../ports/engine-state.ts';
import type { Frame } from '../ami/frame.ts';
import { header } from '../ami/frame.ts';
import type { EventDecoder } from './decoding.ts';
import { Malformed, need } from './decoding.ts';
import { kept } from './kept.ts';
import { isDeviceState, PJSIP } from './names.ts';

/*
 * DeviceStateChange  Device State
 *
 * Device: PJSIP/1001-web, Queue:support_avail, Local/..., confbridge:..., park:...; only the first kind is a device.
 * State: UNKNOWN NOT_INUSE INUSE BUSY INVALID UNAVAILABLE RINGING RINGINUSE ONHOLD
 * A row of DeviceStateList has the same headers.
 */
const device = header('Device');
const state = header('State');

/** The endpoint and its state; null for a device that is no endpoint. */
export const deviceRow = (frame: Frame): { endpoint: string; state: DeviceState } | null => {
  if (!frame.begins(device, PJSIP)) {
    if (!frame.has(device)) throw new Malformed('Device is missing');
    return null;
  }
  const endpoint = kept(need(frame, device).slice(PJSIP.length));
  const word = kept(need(frame, state));
  if (!isDeviceState(word)) throw new Malformed(`State is ${word}`);
  return { endpoint, state: word };
};

const change: EventDecoder = (frame, at, d) => {
  const row = deviceRow(frame);
  if (row !== null) d.emit({ at, type: 'device.state', endpoint: row.endpoint, state: row.state });
};

export const deviceStateEvents = { DeviceStateChange: change } satisfies Record<string, EventDecoder>;
