import { audit as operations } from '@offhook/contract/operations/audit.ts';
import type { Served } from '../../ports/operations.ts';
import type { AuditTrail } from './service.ts';

export const auditOperations = (audit: AuditTrail): Served<typeof operations> => ({
  operations,
  handlers: {
    list: (_, { query }) => audit.page(query),
  },
});
