import type { CallOperation, Device, LegChoice, NewCall } from '@offhook/contract/call-control.ts';
import { callsOf, reaches } from '../../core/rights.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Directory, EndpointKind, Person } from '../../ports/directory.ts';
import type { CallVerbs, Engine } from '../../ports/engine.ts';
import type { LiveCall, LiveLeg } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Guard } from './guard.ts';
import { newPair } from './ids.ts';
import { engineDown } from './perform.ts';
import type { PerformDeps, Performer, Plan } from './perform.ts';
import { callFor, legFor, steersAll } from './reach.ts';

export interface CallControlDeps extends PerformDeps {
  readonly engine: Pick<Engine, 'node'> & CallVerbs;
  readonly directory: Directory;
  readonly guard: Guard;
  readonly performer: Performer;
}
export interface CallControl {
  originate(actor: Actor, wanted: NewCall): Promise<CallOperation>;
  hangup(actor: Actor, id: string, choice: LegChoice): Promise<CallOperation>;
}

const KIND: Readonly<Record<Exclude<Device, 'all'>, EndpointKind>> = {
  desk: 'sip',
  web: 'webrtc',
  mobile: 'mobile',
};
const RING_SECONDS = 30;
/** Beyond the ringing itself: what the engine needs to tell that it is over. */
const RING_SLACK_MS = 5_000;

/** Runs one operation; a refusal on the way to it is written into the trail. */
export async function guarded<T>(
  performer: Performer,
  actor: Actor,
  action: string,
  object: string | null,
  plan: () => Promise<T> | T,
): Promise<T> {
  try {
    return await plan();
  } catch (error) {
    await performer.refused(actor, action, object, error);
    throw error;
  }
}

export function createCallControl(deps: CallControlDeps): CallControl {
  const { engine, live, directory, guard, performer, clock } = deps;
  const ensureLive = (): void => {
    if (!live.live) throw engineDown();
  };

  /** Whose phone rings first. */
  const callerOf = (actor: Actor, from: string | undefined): Person => {
    const extension = from ?? actor.caller.extension;
    if (extension === '')
      throw new ServiceError('invalid_request', 'from: an API key must say whose devices ring');
    const objects = callsOf(actor.caller, 'control');
    if (objects !== null && !reaches(objects, extension)) {
      throw new ServiceError('forbidden', 'you may place calls for yourself only');
    }
    const person = directory.byExtension(extension);
    if (person === undefined || !person.active) {
      throw new ServiceError('invalid_request', `from: there is no extension ${extension}`);
    }
    return person;
  };
  const kindOf = (person: Person, device: Device): EndpointKind | null => {
    const kind = device === 'all' ? null : KIND[device];
    const own = person.endpoints.filter((e) => kind === null || e.kind === kind);
    const states = live.extension(person.extension)?.devices;
    if (!own.some((e) => (states?.[e.kind] ?? 'UNAVAILABLE') !== 'UNAVAILABLE')) {
      const which = device === 'all' ? 'no device' : `no ${device} device`;
      throw new ServiceError('device_unreachable', `${which} of ${person.extension} is registered`);
    }
    return kind;
  };

  async function planCall(actor: Actor, wanted: NewCall): Promise<Plan> {
    ensureLive();
    const person = callerOf(actor, wanted.from);
    const { extension } = person;
    if (wanted.to === extension) throw new ServiceError('invalid_request', 'to: this is the own extension');
    const shown = wanted.caller_id ?? extension;
    guard.checkCallerId(extension, shown);
    const device = wanted.device ?? 'all';
    const kind = kindOf(person, device);
    const destination = await guard.admit(actor, extension, wanted.to);
    const pair = newPair(engine.node, clock.now());
    const ring_seconds = wanted.ring_seconds ?? RING_SECONDS;
    const call_id = pair[0] as string;
    const own = (): LiveLeg[] => live.call(call_id)?.legs.filter((l) => l.extension === extension) ?? [];
    /** The call ended, or its own leg is gone again without having been taken. */
    const over = (): boolean => live.call(call_id) === undefined && live.gone(call_id);
    const ring_ms = ring_seconds * 1000 + RING_SLACK_MS;
    return {
      action: 'calls.originate',
      call_id,
      leg_id: null,
      extension,
      expects: [
        { type: 'call.started', call: call_id },
        { type: 'call.ringing', call: call_id, times: 8 },
        { type: 'queue.caller_joined', call: call_id },
        { type: 'call.answered', call: call_id },
      ],
      send: (action_id) =>
        engine.placeCall(
          {
            pair,
            extension,
            device: kind,
            number: wanted.to,
            caller_number: shown,
            ring_seconds,
            limit_seconds: wanted.time_limit_seconds ?? null,
          },
          { action_id },
        ),
      confirmed: () => own().length > 0,
      failed: () =>
        over() ? new ServiceError('device_unreachable', `no device of ${extension} rang`) : null,
      waitingFor: `a device of ${extension} to ring`,
      rest: {
        ms: ring_ms,
        done: async (signal) => {
          await live.until(() => over() || own().some(isTaken), {
            signal,
            ms: ring_ms,
            waitingFor: `${extension} to take the call`,
          });
          if (over()) throw new ServiceError('device_unreachable', `${extension} did not take the call`);
        },
      },
      detail: { from: extension, to: wanted.to, destination, device, caller_id: shown },
    };
  }

  const planHangup = (actor: Actor, id: string, choice: LegChoice): Plan => {
    ensureLive();
    const call = callFor(live, actor, id);
    const whole = choice.leg_id === undefined && steersAll(actor) && !hasOwn(actor, call);
    const legs = whole ? call.legs : [legFor(live, actor, call, choice.leg_id)];
    const [first] = legs;
    return {
      action: 'calls.hangup',
      call_id: call.id,
      leg_id: whole ? null : (first?.id ?? null),
      extension: whole ? null : (first?.extension ?? null),
      expects: [{ type: 'call.ended', call: call.id }],
      send: async (action_id) => {
        // The engine does not tell of a hang-up that it was asked for, and that is what shows who gives up waiting.
        for (const { id: leg, extension } of legs) {
          const isOwn = extension !== null && extension === actor.caller.extension;
          if (isOwn) deps.tell({ type: 'channel.ending', at: clock.now(), id: leg });
        }
        await Promise.all(
          legs.map((leg, i) =>
            engine
              .hangup(leg.id, { action_id: i === 0 ? action_id : `${action_id}-${i}` })
              .catch((error: unknown) => {
                // One that is gone by itself is what was wanted.
                if (!(error instanceof ServiceError && error.code === 'engine_refused')) throw error;
              }),
          ),
        );
      },
      confirmed: () => legs.every((leg) => live.leg(leg.id) === undefined),
      waitingFor: 'the leg to end',
    };
  };

  const run = async (
    actor: Actor,
    action: string,
    object: string | null,
    plan: () => Promise<Plan> | Plan,
  ): Promise<CallOperation> =>
    performer.perform(actor, await guarded(performer, actor, action, object, plan));

  return {
    originate: (actor, wanted) => run(actor, 'calls.originate', wanted.to, () => planCall(actor, wanted)),
    hangup: (actor, id, choice) => run(actor, 'calls.hangup', id, () => planHangup(actor, id, choice)),
  };
}

const hasOwn = (actor: Actor, call: LiveCall): boolean =>
  actor.caller.extension !== '' && call.legs.some((leg) => leg.extension === actor.caller.extension);
const isTaken = (leg: LiveLeg): boolean => leg.state !== 'initiated' && leg.state !== 'alerting';
