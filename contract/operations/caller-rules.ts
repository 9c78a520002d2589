import { CallerRuleId, CallerRuleReply, CallerRules, NewCallerRule } from '../caller-rules.ts';
import { area } from '../operation.ts';
import { Done } from '../session.ts';

export const callerRules = area('phonebook', {
  list: {
    method: 'GET',
    path: '/api/v1/caller-rules',
    level: 'agent',
    scope: 'phonebook:read',
    reply: CallerRules,
    errors: ['forbidden'],
    summary: 'Rules that block or allow callers',
  },
  create: {
    method: 'POST',
    path: '/api/v1/caller-rules',
    audit: 'caller_rule.created',
    level: 'agent',
    scope: 'phonebook:write',
    paced: 'any',
    body: NewCallerRule,
    reply: CallerRuleReply,
    status: 201,
    errors: ['invalid_request', 'forbidden', 'name_taken', 'limit_reached', 'store_unavailable'],
    summary: 'Block or allow a caller',
    description:
      'Agents block single numbers; every other rule needs a supervisor. A rule that exists already is the reply; one with the other action is `name_taken`. The engine rejects the next call with cause 21, also while the service is down.',
  },
  remove: {
    method: 'DELETE',
    path: '/api/v1/caller-rules/:id',
    audit: 'caller_rule.deleted',
    level: 'supervisor',
    scope: 'phonebook:write',
    paced: 'any',
    params: CallerRuleId,
    reply: Done,
    errors: ['invalid_request', 'forbidden', 'not_found', 'store_unavailable'],
    summary: 'Delete a rule for callers',
  },
});
