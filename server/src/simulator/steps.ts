/** Steps of the people in a simulated call, in order. */
import { z } from 'zod';
import type { World } from '../adapters/simulator/world.ts';

const Who = z.string().regex(/^\+?[0-9*#]{1,20}$/, 'must be an extension or an outside number');
const MOST_SECONDS = 86_400;

export const Step = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('call'), from: Who, to: Who }),
  z.strictObject({ do: z.literal('answer'), by: Who }),
  z.strictObject({ do: z.literal('decline'), by: Who, busy: z.boolean().default(false) }),
  z.strictObject({ do: z.literal('hangup'), by: Who }),
  z.strictObject({ do: z.literal('hold'), by: Who }),
  z.strictObject({ do: z.literal('retrieve'), by: Who }),
  z.strictObject({ do: z.literal('transfer'), by: Who, to: Who }),
  z.strictObject({ do: z.literal('consult'), by: Who, to: Who }),
  z.strictObject({ do: z.literal('complete'), by: Who }),
  z.strictObject({
    do: z.literal('register'),
    by: Who,
    device: z.enum(['sip', 'webrtc', 'mobile']).default('sip'),
  }),
  z.strictObject({
    do: z.literal('unregister'),
    by: Who,
    device: z.enum(['sip', 'webrtc', 'mobile']).default('sip'),
  }),
  z.strictObject({ do: z.literal('wait'), seconds: z.number().min(0).max(MOST_SECONDS) }),
]);
export type Step = z.infer<typeof Step>;
export const Steps = z.array(Step).min(1).max(1_000);

const BUSY = 17;
const REJECTED = 21;
const register = (world: World, extension: string, kind: string, on: boolean): void => {
  const person = world.members.site?.extensions.find((one) => one.extension === extension);
  const endpoint = person?.endpoints.find((one) => one.kind === kind);
  if (endpoint !== undefined) world.members.register(endpoint.name, on);
};

/**
 * Performs one step other than a wait. Returns the id of the call that the step begins, else null; throws
 * `engine_refused` if the step is impossible.
 */
export function perform(world: World, step: Exclude<Step, { do: 'wait' }>): string | null {
  switch (step.do) {
    case 'call':
      return world.call(step.from, step.to).call;
    case 'answer':
      world.answer(step.by);
      return null;
    case 'decline':
      world.decline(step.by, step.busy ? BUSY : REJECTED);
      return null;
    case 'hangup':
      world.hangUpBy(step.by);
      return null;
    case 'hold':
    case 'retrieve':
      world.hold(step.by, step.do === 'hold');
      return null;
    case 'transfer':
      world.transferBy(step.by, step.to);
      return null;
    case 'consult':
      world.consult(step.by, step.to);
      return null;
    case 'complete':
      world.completeConsult(step.by);
      return null;
    case 'register':
    case 'unregister':
      register(world, step.by, step.device, step.do === 'register');
      return null;
  }
}
