import { History, HistoryAction, HistoryActionReply, HistoryQuery } from '../history.ts';
import { area } from '../operation.ts';

const list = {
  method: 'GET',
  path: '/api/mobile/history.php',
  level: 'user',
  scope: 'history:read',
  query: HistoryQuery,
  reply: History,
  errors: ['invalid_request', 'forbidden', 'store_unavailable'],
  summary: "The caller's own calls, newest first, one row for one conversation",
} as const;
export const history = area('history', {
  list,
  listAlias: { ...list, path: '/api/mobile/call_history.php' },
  act: {
    method: 'POST',
    path: '/api/mobile/call_history.php',
    level: 'user',
    body: HistoryAction,
    takes: 'form',
    reply: HistoryActionReply,
    errors: ['invalid_request', 'unknown_action', 'store_unavailable'],
    summary: "Hide calls from the caller's own view, or clear it",
  },
});
