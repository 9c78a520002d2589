export { ApiKeysPage } from './api-keys.tsx';
export { AuditPage } from './audit.tsx';
export { HealthPage } from './health.tsx';
export { PeoplePage } from './people.tsx';
export { PersonPage } from './person.tsx';
export { SettingsPage } from './settings.tsx';
export { WebhookPage } from './webhook.tsx';
export { WebhooksPage } from './webhooks.tsx';
