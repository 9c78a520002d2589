import { AGENT_ACTIONS } from '@offhook/contract/agents.ts';
import type { AgentAction, AgentRequest } from '@offhook/contract/agents.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Directory, PauseReason } from '../../ports/directory.ts';
import type { LiveView } from '../../ports/live.ts';

/** What the caller wants, with every word checked against what exists. `queue` is null for all. */
export type AgentCommand =
  | { readonly kind: 'read'; readonly action: AgentAction }
  | {
      readonly kind: 'pause';
      readonly action: AgentAction;
      readonly queue: string | null;
      readonly reason: string;
    }
  | {
      readonly kind: 'unpause' | 'login' | 'logout';
      readonly action: AgentAction;
      readonly queue: string | null;
    };

/** Nothing that could end a field, a line or a list anywhere on the way to the engine. */
const QUEUE = /^[A-Za-z0-9_-]{1,64}$/;
const fold = (text: string): string => text.normalize('NFKC').toLowerCase();

/** The catalogue is the allow-list: what goes on is the id that stands there, never the text that was given. */
function readReason(directory: Directory, given: string | null | undefined): PauseReason {
  const reasons = directory.pauseReasons();
  const fallback = reasons[0];
  if (fallback === undefined) throw new ServiceError('unknown_reason', 'This site has no pause reasons');
  if (given === undefined || given === null || given === '') return fallback;
  const word = fold(given);
  const found = reasons.find((r) => fold(r.id) === word) ?? reasons.find((r) => fold(r.name) === word);
  if (found) return found;
  const known = reasons.map((r) => r.id).join(', ');
  throw new ServiceError('unknown_reason', `This pause reason does not exist; there are: ${known}`);
}

function readQueue(directory: Directory, live: LiveView, given: string | null | undefined): string | null {
  if (given === undefined || given === null) return null;
  if (!QUEUE.test(given)) {
    throw new ServiceError('invalid_request', 'queue: expected the name or the number of a queue');
  }
  const known =
    directory.queue(given)?.name ??
    directory.queues().find((queue) => queue.number === given)?.name ??
    live.queue(given)?.name;
  if (known === undefined) throw new ServiceError('no_such_queue', `There is no queue ${given}`);
  return known;
}

/** Throws `invalid_request`, `unknown_action`, `unknown_reason` or `no_such_queue`. */
export function readCommand(request: AgentRequest, directory: Directory, live: LiveView): AgentCommand {
  const action = AGENT_ACTIONS.find((known) => known === request.action);
  const queue = (): string | null => readQueue(directory, live, request.queue);
  switch (action) {
    case undefined:
      throw new ServiceError(
        'unknown_action',
        `There is no such action; there are: ${AGENT_ACTIONS.join(', ')}`,
      );
    case 'status':
    case 'get_status':
    case 'get_queues':
      return { kind: 'read', action };
    case 'pause':
      return { kind: 'pause', action, queue: queue(), reason: readReason(directory, request.reason).id };
    case 'unpause':
    case 'login':
    case 'logout':
      return { kind: action, action, queue: queue() };
    case 'toggle_queue': {
      const named = queue();
      if (named === null) throw new ServiceError('invalid_request', 'queue: toggle_queue needs a queue');
      if (request.login === undefined || request.login === null) {
        throw new ServiceError('invalid_request', 'login: toggle_queue needs 1 or 0');
      }
      return { kind: Number(request.login) === 1 ? 'login' : 'logout', action, queue: named };
    }
  }
}
