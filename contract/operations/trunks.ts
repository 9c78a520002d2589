import { TrunksReply } from '../trunks.ts';
import { area } from '../operation.ts';

export const trunks = area('trunks', {
  list: {
    method: 'GET',
    path: '/api/v1/trunks',
    level: 'supervisor',
    scope: 'system:read',
    reply: TrunksReply,
    errors: [],
    summary: 'Current state of the trunks',
  },
});
