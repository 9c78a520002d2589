import { TrunksReply } from '../trunks.ts';
import { area } from '../operation.ts';

export const trunks = area({
  list: {
    method: 'GET',
    path: '/api/v1/trunks',
    tag: 'trunks',
    level: 'supervisor',
    scope: 'system:read',
    reply: TrunksReply,
    errors: [],
    summary: 'Current state of the trunks',
  },
});
