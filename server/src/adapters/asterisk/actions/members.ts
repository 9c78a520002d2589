import { ServiceError } from '../../../core/errors.ts';
import type { CommandOptions, Engine } from '../../../ports/engine.ts';
import { ACTION_MS } from '../ami/connection.ts';
import type { AmiConnection } from '../ami/connection.ts';
import type { ActionFields } from '../ami/codec.ts';

/*
 * QueuePause   Queue Interface Paused(true|false) Reason      anything but true unpauses; Reason is cut at 79 bytes;
 *                                                             without Queue: in every queue of the interface
 * QueueAdd     Queue Interface MemberName StateInterface Penalty Paused Reason
 * QueueRemove  Queue Interface
 *
 * The engine writes dynamic members to its database joined by , ; and | without escaping any of them, so a name or a
 * reason that holds one destroys the other members at the next start.
 */
const BREAKS_THE_MEMBERS_FILE = /[,;|]/;
const REASON_BYTES = 79;
const NAME_BYTES = 79;

const refuse = (detail: string): never => {
  throw new ServiceError('invalid_request', detail);
};
const plain = (what: string, value: string, most: number): string => {
  if (BREAKS_THE_MEMBERS_FILE.test(value)) refuse(`${what} must not hold , ; or |`);
  if (Buffer.byteLength(value) > most) refuse(`${what} is longer than ${most} bytes`);
  return value;
};
/** The engine takes an empty queue or interface as "all of them", which a missing name never means. */
const named = (what: string, value: string): string => {
  if (value === '') refuse(`${what} is missing`);
  return plain(what, value, 200);
};

type Members = Pick<Engine, 'pauseMember' | 'pauseEverywhere' | 'addMember' | 'removeMember'>;

/** The verbs for queue members, over the connection that `actions` returns; it throws while there is none. */
export const memberActions = (actions: () => AmiConnection): Members => {
  const run = async (name: string, fields: ActionFields, options: CommandOptions): Promise<void> => {
    const answer = await actions().action(name, fields, { ...options, ms: ACTION_MS.member });
    if (!answer.ok) throw new ServiceError('engine_refused', answer.message || `${name} was refused`);
  };
  const pause = (iface: string, paused: boolean, reason: string): ActionFields => ({
    Interface: named('the interface', iface),
    Paused: paused ? 'true' : 'false',
    Reason: plain('the reason', reason, REASON_BYTES),
  });
  return {
    async pauseMember(queue, iface, paused, reason, options = {}) {
      await run('QueuePause', { Queue: named('the queue', queue), ...pause(iface, paused, reason) }, options);
    },
    async pauseEverywhere(_queues, iface, paused, reason, options = {}) {
      await run('QueuePause', pause(iface, paused, reason), options);
    },
    async addMember(member, options = {}) {
      if (!Number.isSafeInteger(member.penalty) || member.penalty < 0) refuse('the penalty is not valid');
      const fields = {
        Queue: named('the queue', member.queue),
        Interface: named('the interface', member.interface),
        MemberName: plain('the name', member.name, NAME_BYTES),
        StateInterface: plain('the state interface', member.state_interface, 200),
        Penalty: String(member.penalty),
        Paused: member.paused ? 'true' : 'false',
        Reason: member.paused ? plain('the reason', member.reason, REASON_BYTES) : undefined,
      };
      await run('QueueAdd', fields, options);
    },
    async removeMember(queue, iface, options = {}) {
      await run(
        'QueueRemove',
        { Queue: named('the queue', queue), Interface: named('the interface', iface) },
        options,
      );
    },
  };
};
