import { ConsoleSettings, ConsoleSettingsReply } from '../console-settings.ts';
import { area } from '../operation.ts';

export const consoleSettings = area('console', {
  get: {
    method: 'GET',
    path: '/api/v1/settings/console',
    level: 'user',
    scope: 'any',
    setup: true,
    reply: ConsoleSettingsReply,
    errors: [],
    summary: 'Settings of the console',
  },
  set: {
    method: 'PUT',
    path: '/api/v1/settings/console',
    action: 'console.configure',
    audit: 'console.configure',
    level: 'admin',
    confirm: (wanted) => typeof wanted === 'object' && wanted !== null && 'second_factor' in wanted,
    body: ConsoleSettings,
    reply: ConsoleSettingsReply,
    errors: ['invalid_request', 'store_unavailable'],
    summary: 'Change the settings of the console',
  },
});
