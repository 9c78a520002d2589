import type { ReactNode } from 'react';
import { Empty } from '../app/states.tsx';

export const PeoplePage = (): ReactNode => <Empty title="PeoplePage" />;
export const PersonPage = (): ReactNode => <Empty title="PersonPage" />;
export const ApiKeysPage = (): ReactNode => <Empty title="ApiKeysPage" />;
export const WebhooksPage = (): ReactNode => <Empty title="WebhooksPage" />;
export const WebhookPage = (): ReactNode => <Empty title="WebhookPage" />;
export const AuditPage = (): ReactNode => <Empty title="AuditPage" />;
export const HealthPage = (): ReactNode => <Empty title="HealthPage" />;
export const SettingsPage = (): ReactNode => <Empty title="SettingsPage" />;
