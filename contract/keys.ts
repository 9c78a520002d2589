import { z } from 'zod';

/** What an API key may do; each scope reaches no further than a supervisor's rights, within the key's objects. */
export const SCOPES = [
  'directory:read',
  'history:read',
  'calls:read',
  'calls:control',
  'queues:read',
  'queues:control',
  'agents:read',
  'agents:control',
  'config:read',
  'system:read',
  'webhooks:manage',
] as const;
export const Scope = z.enum(SCOPES);
export type Scope = z.infer<typeof Scope>;
