import { AgentReply, AgentRequest } from '@offhook/contract/agents.ts';
import type { App } from '../../ports/http.ts';
import type { AgentService } from './service.ts';

/** POST /api/cc_actions/agent.php (wire.md section 5). */
export function agentRoutes(app: App, agents: AgentService): void {
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
        tags: ['agents'],
        body: AgentRequest,
        response: { 200: AgentReply },
      },
    },
    (request) => {
      const { extension, username } = request.person();
      return agents.act({ extension, username, ip: request.ip }, request.body);
    },
  );
}
