import { AuditPage, AuditQuery } from '../audit.ts';
import { area } from '../operation.ts';

export const audit = area('audit', {
  list: {
    method: 'GET',
    path: '/api/v1/audit',
    level: 'admin',
    query: AuditQuery,
    reply: AuditPage,
    errors: ['invalid_request', 'store_unavailable'],
    summary: 'The audit trail, newest first',
  },
});
