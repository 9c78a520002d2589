import { NightSwitchPath, NightSwitchReply, NightSwitchesReply, SetNightSwitch } from '../night-switches.ts';
import { area } from '../operation.ts';

export const nightSwitches = area('config', {
  list: {
    method: 'GET',
    path: '/api/v1/night-switches',
    level: 'supervisor',
    scope: 'config:read',
    reply: NightSwitchesReply,
    errors: [],
    summary: 'Time conditions that phones can switch, and which are switched',
  },
  set: {
    method: 'PUT',
    path: '/api/v1/night-switches/:name',
    action: 'night_switches.set',
    audit: 'night_switch.set',
    level: 'supervisor',
    scope: 'config:write',
    params: NightSwitchPath,
    body: SetNightSwitch,
    reply: NightSwitchReply,
    errors: [
      'invalid_request',
      'not_found',
      'engine_refused',
      'engine_unavailable',
      'engine_timeout',
      'store_unavailable',
    ],
    summary: 'Switch a time condition to open or closed, or back to its hours',
  },
});
