import { AGENT_ACTIONS } from '@offhook/contract/agents.ts';
import type { AgentRequest } from '@offhook/contract/agents.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Directory, PauseReason } from '../../ports/directory.ts';
import type { LiveView } from '../../ports/live.ts';
import type { ChangeCommand } from './plan.ts';

/** A request of agent.php, checked against the directory and the catalogue. */
export type AgentCommand = { readonly kind: 'read' } | ChangeCommand;

/** Excludes everything that could end a field, a line or a list on the way to the engine. */
const QUEUE = /^[A-Za-z0-9_-]{1,64}$/;
const fold = (text: string): string => text.normalize('NFKC').toLowerCase();

/** Returns a reason of the catalogue; the given text itself never reaches the engine. */
export function readReason(
  directory: Directory,
  given: string | null | undefined,
  supervises: boolean,
): PauseReason {
  const reason = findReason(directory, given);
  if (!reason.supervisor_only || supervises) return reason;
  throw new ServiceError('forbidden', say`reason: ${reason.id} needs the level supervisor`);
}
function findReason(directory: Directory, given: string | null | undefined): PauseReason {
  const reasons = directory.pauseReasons();
  const fallback = reasons[0];
  if (fallback === undefined) throw new ServiceError('unknown_reason', 'this site has no pause reasons');
  if (given === undefined || given === null || given === '') return fallback;
  const word = fold(given);
  const found = reasons.find((r) => fold(r.id) === word) ?? reasons.find((r) => fold(r.name) === word);
  if (found) return found;
  const known = reasons.map((r) => r.id).join(', ');
  throw new ServiceError('unknown_reason', say`this pause reason does not exist; there are: ${known}`);
}

export function readQueue(
  directory: Directory,
  live: LiveView,
  given: string | null | undefined,
): string | null {
  if (given === undefined || given === null) return null;
  if (!QUEUE.test(given)) {
    throw new ServiceError('invalid_request', 'queue: expected the name or the number of a queue');
  }
  const known =
    directory.queue(given)?.name ??
    directory.queues().find((queue) => queue.number === given)?.name ??
    live.queue(given)?.name;
  if (known === undefined) throw new ServiceError('no_such_queue', say`there is no queue ${given}`);
  return known;
}

/** Throws `invalid_request`, `unknown_action`, `unknown_reason`, `forbidden` or `no_such_queue`. */
export function readCommand(
  request: AgentRequest,
  directory: Directory,
  live: LiveView,
  supervises: boolean,
): AgentCommand {
  const action = AGENT_ACTIONS.find((known) => known === request.action);
  const queue = (): string | null => readQueue(directory, live, request.queue);
  switch (action) {
    case undefined:
      throw new ServiceError(
        'unknown_action',
        say`there is no such action; there are: ${AGENT_ACTIONS.join(', ')}`,
      );
    case 'status':
    case 'get_status':
    case 'get_queues':
      return { kind: 'read' };
    case 'pause':
      return {
        kind: 'pause',
        queue: queue(),
        reason: readReason(directory, request.reason, supervises).id,
      };
    case 'unpause':
    case 'login':
      return { kind: action, queue: queue() };
    case 'logout':
      return { kind: 'logout', queue: queue(), waits: false };
    case 'toggle_queue': {
      const named = queue();
      if (named === null) throw new ServiceError('invalid_request', 'queue: toggle_queue needs a queue');
      if (request.login === undefined || request.login === null) {
        throw new ServiceError('invalid_request', 'login: toggle_queue needs 1 or 0');
      }
      return Number(request.login) === 1
        ? { kind: 'login', queue: named }
        : { kind: 'logout', queue: named, waits: false };
    }
  }
}
