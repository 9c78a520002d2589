import { ROLE_NAME_OF_LEVEL, ROLE_OF_LEVEL } from '@offhook/contract/ids.ts';
import type { Contact } from '@offhook/contract/extensions.ts';
import { rfc3339, rfc3339OrNull } from '../../core/clock.ts';
import type { Person } from '../../ports/directory.ts';
import type { DeviceState } from '../../ports/engine-state.ts';
import type { LiveExtension } from '../../ports/live.ts';

const BUSY: ReadonlySet<DeviceState> = new Set(['INUSE', 'BUSY', 'RINGING', 'RINGINUSE', 'ONHOLD']);

/** The status word that existing clients read. A ringing phone is never offline; one that a push can wake is online. */
export function statusOf(live: LiveExtension | undefined): Contact['status'] {
  if (live === undefined) return 'offline';
  const { devices, activity, personal, reachability } = live;
  const busy = BUSY.has(devices.sip) || BUSY.has(devices.webrtc) || BUSY.has(devices.mobile);
  if (busy || activity !== 'idle' || personal === 'dnd') return 'busy';
  return reachability === 'online' || reachability === 'push_only' ? 'online' : 'offline';
}

/** One entry of the list. `unknownSince` is the time of an extension whose state the engine has not reported. */
export function contactOf(person: Person, live: LiveExtension | undefined, unknownSince: number): Contact {
  return {
    extension: person.extension,
    name: person.name,
    role: ROLE_OF_LEVEL[person.level],
    role_name: ROLE_NAME_OF_LEVEL[person.level],
    status: statusOf(live),
    presence: {
      reachability: live?.reachability ?? 'unknown',
      activity: live?.activity ?? 'idle',
      personal: live?.personal ?? 'not_set',
      note: live?.note ?? null,
      expires_at: rfc3339OrNull(live?.expires_at ?? null),
      summary: live?.summary ?? 'offline',
      since: rfc3339(live?.since ?? unknownSince),
    },
    sip_status: live?.devices.sip ?? 'UNKNOWN',
    webrtc_status: live?.devices.webrtc ?? 'UNKNOWN',
    mob_webrtc_status: live?.devices.mobile ?? 'UNKNOWN',
    email: person.email,
    mobile: person.mobile,
    department: person.department,
  };
}
