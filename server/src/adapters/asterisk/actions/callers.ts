import type { ChannelId } from '@offhook/contract/ids.ts';
import { ServiceError } from '../../../core/errors.ts';
import type { QueuePlace, QueueVerbs } from '../../../ports/engine-verbs.ts';
import type { CommandOptions } from '../../../ports/engine.ts';
import { ACTION_MS } from '../ami/connection.ts';
import type { AmiConnection } from '../ami/connection.ts';
import type { ActionFields } from '../ami/codec.ts';

/*
 * QueueChangePriorityCaller  Queue Caller(name of the channel) Priority Immediate(yes)   no event reports the result
 * Redirect                   Channel Context Exten Priority
 *
 * QueueWithdrawCaller is not used: it waits as long as a member rings for the caller.
 */
const NUMBER = /^[0-9]{1,32}$/;
/** Extension of the dialplan context of that name: `<number>*<position>*<priority>`, or a word. */
const MOVED = 'queue-moved';
const WITHDRAWN = 'withdrawn';

const refuse = (detail: string): never => {
  throw new ServiceError('invalid_request', detail);
};
const whole = (what: string, value: number, most: number): string =>
  Number.isSafeInteger(value) && value >= 0 && value <= most
    ? String(value)
    : refuse(`${what} must be a whole number from 0 to ${most}`);
const notThere = (): ServiceError =>
  new ServiceError('no_such_caller', 'the caller no longer waits in this queue');
const MOST_PRIORITY = 1_000_000;
const MOST_POSITION = 10_000;
const placeText = ({ number, position, priority }: QueuePlace): string =>
  [
    NUMBER.test(number) ? number : refuse('the number of the queue is not valid'),
    whole('the position', position ?? 0, MOST_POSITION),
    whole('the priority', priority, MOST_PRIORITY),
  ].join('*');

/** The verbs for callers. `nameOf` returns the engine's name of a live channel. */
export const callerActions = (
  actions: () => AmiConnection,
  nameOf: (channel: ChannelId) => string | undefined,
): QueueVerbs => {
  const run = async (name: string, fields: ActionFields, options: CommandOptions): Promise<void> => {
    const answer = await actions().action(name, fields, { ...options, ms: ACTION_MS.member });
    if (!answer.ok && answer.message.endsWith('No such caller')) throw notThere();
    if (!answer.ok) throw new ServiceError('engine_refused', answer.message || `${name} was refused`);
  };
  const known = (channel: ChannelId): string => {
    const name = nameOf(channel);
    if (name === undefined) throw notThere();
    return name;
  };
  const prioritise = (queue: string, caller: string, priority: number, now: boolean, o: CommandOptions) =>
    run(
      'QueueChangePriorityCaller',
      {
        Queue: queue === '' ? refuse('the queue is missing') : queue,
        Caller: caller,
        Priority: whole('the priority', priority, MOST_PRIORITY),
        Immediate: now ? 'yes' : undefined,
      },
      o,
    );
  return {
    async setCallerPriority(queue, caller, priority, options = {}) {
      await prioritise(queue, known(caller), priority, true, options);
    },
    async takeCaller(queue, caller, to, options = {}) {
      const exten = to === null ? WITHDRAWN : placeText(to);
      const name = known(caller);
      // Only this action checks in one step that the caller still waits; a redirect would also take it away from an agent.
      await prioritise(queue, name, to?.priority ?? 0, false, options);
      const { action_id: _, ...rest } = options;
      await run('Redirect', { Channel: name, Context: MOVED, Exten: exten, Priority: '1' }, rest);
    },
  };
};
