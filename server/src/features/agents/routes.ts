import {
  AgentPath,
  AgentReply,
  AgentRequest,
  AgentsQuery,
  AgentsReply,
  OneAgentReply,
  PauseReasonsReply,
} from '@offhook/contract/agents.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import type { App } from '../../ports/http.ts';
import type { Agents } from './feature.ts';

/** POST /api/cc_actions/agent.php (wire.md section 5), and reading agents; an agent sees itself. */
export function agentRoutes(app: App, agents: Agents): void {
  const tags = ['agents'];
  app.get(
    '/api/v1/agents',
    {
      config: { level: 'agent', scope: 'agents:read', errors: ['invalid_request'] },
      schema: {
        tags,
        summary: 'The agents as they are now',
        querystring: AgentsQuery,
        response: { 200: AgentsReply },
      },
    },
    (request) => agents.list(request.person(), request.query),
  );
  app.get(
    '/api/v1/agents/:extension',
    {
      config: { level: 'agent', scope: 'agents:read', errors: ['invalid_request', 'not_found'] },
      schema: { tags, summary: 'One agent', params: AgentPath, response: { 200: OneAgentReply } },
    },
    (request) => agents.one(request.person(), request.params.extension),
  );
  app.get(
    '/api/v1/pause-reasons',
    {
      config: { level: 'agent', scope: 'agents:read' },
      schema: { tags, summary: 'The catalogue of pause reasons', response: { 200: PauseReasonsReply } },
    },
    () => ({ success: true as const, pause_reasons: [...agents.reasons()] }),
  );
  app.post(
    '/api/cc_actions/agent.php',
    {
      config: {
        level: 'agent',
        body: 'form',
        errors: [
          'unknown_action',
          'unknown_reason',
          'no_such_queue',
          'not_in_queue',
          'static_member',
          'too_many_requests',
          'engine_refused',
          'engine_unavailable',
          'store_unavailable',
          'engine_timeout',
        ],
      },
      schema: {
        summary: 'Pause, log in and out, and read the state of the caller as an agent',
        tags,
        body: AgentRequest,
        response: { 200: AgentReply },
      },
    },
    (request) => {
      const caller = request.person();
      const { extension, username } = caller;
      const supervises = includesLevel(caller.level, 'supervisor');
      const by = { extension, username, ip: request.ip, supervises };
      return app.bounded(caller, () => agents.act(by, request.body));
    },
  );
}
