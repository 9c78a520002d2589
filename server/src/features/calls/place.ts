/** Plans that first ring the caller's own devices: a call, a pickup, taking a parked call, listening in. */
import type {
  Device,
  ListenRequest,
  NewCall,
  PickupRequest,
  RetrieveRequest,
} from '@offhook/contract/call-control.ts';
import { callsOf, reaches } from '../../rights/rights.ts';
import { channelId, includesLevel, nodeOf } from '@offhook/contract/ids.ts';
import type { ChannelId, NodeId } from '@offhook/contract/ids.ts';
import { randomBytes } from '../../core/chance.ts';
import { ServiceError } from '../../core/errors.ts';
import { Tombstones } from '../../core/tombstones.ts';
import { say } from '../../core/said.ts';
import type { EndpointKind, Person } from '../../ports/directory.ts';
import type { CallVerbs, PlacedPart } from '../../ports/engine-verbs.ts';
import type { ExpectedEvent, LiveCall, LiveLeg } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import type { CallControlDeps } from './deps.ts';
import { gone, isTaken, isTalking, wrongState } from './deps.ts';
import { CONFIRM_MS } from './perform.ts';
import type { Plan } from './perform.ts';
import {
  callFor,
  checkSlot,
  findCall,
  isAmong,
  isOwnRinging,
  noSuchCall,
  parkedIn,
  steersAll,
} from './reach.ts';

const KIND: Readonly<Record<Exclude<Device, 'all'>, EndpointKind>> = {
  desk: 'sip',
  web: 'webrtc',
  mobile: 'mobile',
};
const RING_SECONDS = 30;
/** Time beyond the ringing in which the engine reports its end. */
const RING_SLACK_MS = 5_000;
/** Legs of all devices of two extensions can ring for one call. */
const RINGS = 8;

interface Own {
  readonly person: Person;
  readonly kind: EndpointKind | null;
}
interface PlacedPlan {
  readonly action: string;
  readonly own: Own;
  readonly ring_seconds: number | undefined;
  readonly number: string;
  readonly part: PlacedPart;
  /** The call that the operation is about; null if it is the placed call itself. */
  readonly about: { readonly call_id: string; readonly leg_id: string } | null;
  readonly expects: readonly ExpectedEvent[];
  /** True once the operation succeeded; checked from the moment the own device is answered. */
  readonly done: (operationId: string, own: LiveLeg) => boolean;
  readonly detail: Plan['detail'];
  readonly auditFirst?: boolean;
}

/**
 * Ids for a pair of channels that the engine creates. They end in seconds and a counter like the engine's own, because
 * calls are sorted by them: after each live leg of that engine, and before the channels that it creates later.
 */
function newPair(node: NodeId, now: number, calls: readonly LiveCall[]): readonly [ChannelId, ChannelId] {
  let [second, serial] = [Math.floor(now / 1000), 1];
  for (const { id } of calls.flatMap(({ legs }) => legs)) {
    const [, s, n] = nodeOf(id) === node ? (/(\d{10,12})\.(\d{1,12})$/.exec(id) ?? []) : [];
    if (Number(s) > second) [second, serial] = [Number(s), Number(n)];
    else if (Number(s) === second) serial = Math.max(serial, Number(n));
  }
  const name = `oh-${randomBytes(6, 'placed call').toString('hex')}-${second}`;
  return [channelId(node, `${name}.${serial}`), channelId(node, `${name}.${serial + 1}`)];
}

export class Placing {
  readonly #deps: CallControlDeps;
  /** Calls that a command hung up. */
  readonly #hungUp = new Tombstones<string>();

  constructor(deps: CallControlDeps) {
    this.#deps = deps;
  }
  /** A command is about to end legs of this call. */
  hungUp(call: string): void {
    this.#hungUp.add(call, this.#deps.clock.now());
  }
  async call(actor: Actor, wanted: NewCall): Promise<Plan> {
    const own = this.#ownOf(actor, wanted.from, wanted.device);
    const { extension } = own.person;
    if (wanted.to === extension)
      throw new ServiceError('invalid_request', 'to: must not be the own extension');
    if (this.#deps.isLot(wanted.to)) {
      throw new ServiceError('invalid_request', 'to: a parking number can only be the target of a transfer');
    }
    const shown = wanted.caller_id ?? extension;
    this.#deps.guard.checkCallerId(extension, shown);
    const freed = checkSlot(this.#deps, actor, wanted.to, this.#nodeOf(extension));
    const destination = await this.#deps.guard.admit(actor, extension, wanted.to);
    const plan = this.#placed({
      action: 'calls.originate',
      own,
      ring_seconds: wanted.ring_seconds,
      number: wanted.to,
      part: { does: 'call', caller_number: shown, limit_seconds: wanted.time_limit_seconds ?? null },
      about: null,
      expects: [],
      done: () => true,
      detail: { destination, caller_id: shown },
    });
    const call = plan.call_id!;
    const expects = [
      ...plan.expects,
      { type: 'queue.caller_joined', call } as const,
      { type: 'call.answered', call } as const,
      ...freed,
    ];
    return { ...plan, expects };
  }
  pickup(actor: Actor, id: string, wanted: PickupRequest): Plan {
    const own = this.#ownOf(actor, wanted.from, wanted.device);
    const group = (extension: string | null): string | null =>
      extension === null ? null : (this.#deps.directory.byExtension(extension)?.pickup_group ?? null);
    const mine = own.person.pickup_group;
    const inGroup = (extension: string | null): boolean => mine !== null && group(extension) === mine;
    const call = findCall(this.#deps, actor, id, (extensions) => extensions.some(inGroup));
    const ringing = call.legs.filter((leg) => leg.state === 'alerting');
    const leg = wanted.leg_id === undefined ? ringing[0] : ringing.find((l) => l.id === wanted.leg_id);
    const may = steersAll(actor) || ringing.some((l) => inGroup(l.extension));
    if (!may) throw noSuchCall();
    if (leg === undefined) throw wrongState('nothing of this call rings now');
    // The pickup of a leg that rings for a supervisor to listen in would listen.
    if (isOwnRinging(call))
      throw wrongState('the ringing leg is a device of the caller itself; it cannot be picked up');
    if (call.legs.some((l) => l.extension === own.person.extension && l.state !== 'alerting')) {
      throw wrongState(say`${own.person.extension} is in this call already`);
    }
    this.#isNear(own, nodeOf(leg.id));
    if (!steersAll(actor) && group(leg.extension) !== mine) {
      throw new ServiceError('forbidden', 'this leg rings in another pick-up group');
    }
    return this.#placed({
      action: 'calls.pickup',
      own,
      ring_seconds: wanted.ring_seconds,
      number: leg.extension ?? own.person.extension,
      part: { does: 'pickup', channel: leg.id },
      about: { call_id: call.id, leg_id: leg.id },
      expects: [{ type: 'call.transferred', call: call.id, kind: 'pickup', by: own.person.extension }],
      done: (operationId) => this.#deps.live.ledTo(operationId).has('call.transferred'),
      detail: { leg_id: leg.id },
    });
  }
  /** Takes the parked call by calling its slot. */
  parked(actor: Actor, id: string, wanted: RetrieveRequest): Plan {
    const call = findCall(this.#deps, actor, id);
    if (!isAmong(actor, call.extensions)) throw noSuchCall();
    const parked = parkedIn(this.#deps.live, call);
    if (parked === undefined) throw wrongState('this call is neither on hold nor parked');
    const { leg, node, slot } = parked;
    const own = this.#ownOf(actor, wanted.from, wanted.device);
    this.#isNear(own, node);
    return this.#placed({
      action: 'calls.retrieve',
      own,
      ring_seconds: wanted.ring_seconds,
      number: slot,
      part: { does: 'call', caller_number: own.person.extension, limit_seconds: null },
      about: { call_id: call.id, leg_id: leg },
      expects: [{ type: 'parking.slot_freed', leg }],
      done: (_operationId, mine) => this.#deps.live.beside(mine.id)?.leg === leg,
      detail: { slot },
    });
  }
  /** Resolves once an answered leg for listening does listen: only then it can change its mode. */
  async settled(actor: Actor, { from }: ListenRequest): Promise<void> {
    const { live } = this.#deps;
    const extension = from ?? actor.caller.extension;
    const ear = live
      .calls()
      .flatMap(({ placed: why, legs }) => (why === 'listen' ? legs : []))
      .find((leg) => leg.extension === extension && isTaken(leg) && leg.listens_to === null);
    if (ear === undefined) return;
    const now = (): LiveLeg | undefined => live.leg(ear.id);
    await live.until(() => now() === undefined || now()?.listens_to !== null, {
      ms: CONFIRM_MS,
      waitingFor: 'the own leg to listen',
    });
  }
  listen(actor: Actor, id: string, does: 'listen' | 'whisper' | 'barge', wanted: ListenRequest): Plan {
    if (!includesLevel(actor.caller.level, 'supervisor')) {
      throw new ServiceError('forbidden', 'this needs the level supervisor');
    }
    if (!this.#deps.mayListen(actor.caller)) {
      throw new ServiceError(
        'confirmation_required',
        'this session was not confirmed in the last 5 minutes: POST /api/v1/session/confirm, then send the request again',
      );
    }
    const call = callFor(this.#deps, actor, id);
    const own = this.#ownOf(actor, wanted.from, wanted.device);
    const { extension } = own.person;
    const isAgent = ({ extension: whose }: LiveLeg): boolean =>
      whose !== null && this.#deps.directory.queuesOf(whose).length > 0;
    const near = (leg: LiveLeg): boolean => nodeOf(leg.id) === this.#nodeOf(extension);
    // Of a call between two engines both sides are heard at either leg; the own engine has one of them.
    const talking = call.legs
      .filter((leg) => isTalking(leg) && leg.extension !== extension)
      .toSorted((a, b) => Number(near(b)) - Number(near(a)));
    const leg =
      wanted.leg_id === undefined
        ? (talking.find(isAgent) ?? talking.find((l) => l.extension !== null) ?? talking[0])
        : talking.find((l) => l.id === wanted.leg_id);
    if (leg === undefined) throw wrongState('no leg of this call is talking now; listening needs one');
    const ear = this.#earOf(extension, call);
    const part = { does, channel: leg.id, session_id: actor.caller.session_id };
    if (ear !== undefined) return this.#again(ear, call, part);
    const rings = this.#deps.live
      .calls()
      .some(({ placed: p, legs }) => p === 'listen' && legs.some((l) => l.extension === extension));
    if (rings) throw wrongState('your devices already ring to listen, or listen to another call');
    this.#isNear(own, nodeOf(leg.id));
    return this.#placed({
      action: `calls.${does}`,
      own,
      ring_seconds: wanted.ring_seconds,
      number: leg.extension ?? extension,
      part,
      about: { call_id: call.id, leg_id: leg.id },
      expects: [],
      done: (_operationId, mine) => mine.listens_to === leg.id,
      detail: { leg_id: leg.id, listened_to: leg.extension },
      auditFirst: true,
    });
  }

  /** The person whose devices ring, and the kind of device. */
  #ownOf(actor: Actor, from: string | undefined, device: Device = 'all'): Own {
    const extension = from ?? actor.caller.extension;
    if (extension === '') {
      throw new ServiceError(
        'invalid_request',
        'from: is needed with an API key: the extension whose devices ring',
      );
    }
    const objects = callsOf(actor.caller, 'control');
    if (objects !== null && !reaches(objects, extension)) {
      throw new ServiceError('forbidden', 'from: only your own devices may ring');
    }
    const person = this.#deps.directory.byExtension(extension);
    if (person === undefined || !person.active) {
      throw new ServiceError('invalid_request', say`from: there is no extension ${extension}`);
    }
    const kind = device === 'all' ? null : KIND[device];
    const states = this.#deps.live.extension(extension)?.devices;
    const reachable = person.endpoints.some(
      (e) => (kind === null || e.kind === kind) && (states?.[e.kind] ?? 'UNAVAILABLE') !== 'UNAVAILABLE',
    );
    if (!reachable) {
      const detail =
        device === 'all'
          ? say`no device of ${extension} is registered`
          : say`no ${device} device of ${extension} is registered`;
      throw new ServiceError('device_unreachable', detail);
    }
    return { person, kind };
  }
  /** Node of the engine that has the devices of an extension. */
  #nodeOf(extension: string): NodeId {
    const { engine } = this.#deps;
    return engine.nodeOf?.(extension) ?? engine.node;
  }
  /** A device reaches calls of its own engine only. */
  #isNear({ person: { extension } }: Own, node: NodeId): void {
    if (node !== this.#nodeOf(extension))
      throw wrongState(say`${extension} is at another engine than this call`);
  }
  #placed(plan: PlacedPlan): Plan {
    const { engine, live, clock } = this.#deps;
    const { extension } = plan.own.person;
    const pair = newPair(this.#nodeOf(extension), clock.now(), live.calls());
    const placedId = pair[0] as string;
    const ring_seconds = plan.ring_seconds ?? RING_SECONDS;
    const ring_ms = ring_seconds * 1000 + RING_SLACK_MS;
    // A pickup joins the own leg into the call that it takes.
    const legs = (): readonly LiveLeg[] =>
      [placedId, plan.about?.call_id]
        .flatMap((id) => (id === undefined ? [] : (live.call(id)?.legs ?? [])))
        .filter((leg) => leg.extension === extension && leg.id !== plan.about?.leg_id);
    const over = (): boolean => live.call(placedId) === undefined && live.gone(placedId);
    const unrung = (): ServiceError =>
      this.#cancelOf(placedId) ?? new ServiceError('device_unreachable', say`no device of ${extension} rang`);
    const untaken = (): ServiceError =>
      this.#cancelOf(placedId) ??
      new ServiceError('device_no_answer', say`no device of ${extension} took the call`);
    return {
      action: plan.action,
      call_id: plan.about?.call_id ?? placedId,
      leg_id: plan.about?.leg_id ?? null,
      extension,
      ...(plan.about === null ? {} : { own_call_id: placedId }),
      expects: [
        { type: 'call.started', call: placedId },
        { type: 'call.ringing', call: placedId, times: RINGS },
        ...plan.expects,
      ],
      send: (action_id) =>
        engine.placeCall(
          { pair, extension, device: plan.own.kind, number: plan.number, ring_seconds, part: plan.part },
          { action_id },
        ),
      confirmed: () => legs().length > 0,
      failed: () => (over() ? unrung() : null),
      waitingFor: `a device of ${extension} to ring`,
      rest: {
        ms: ring_ms,
        done: async (signal, operationId) => {
          let ended = false;
          await live.until(
            () => {
              if (legs().some((leg) => isTaken(leg) && plan.done(operationId, leg))) return true;
              ended = over();
              return ended;
            },
            { signal, ms: ring_ms, waitingFor: `${extension} to take the call` },
          );
          if (ended) throw untaken();
        },
      },
      detail: { from: extension, to: plan.number, ...plan.detail },
      ...(plan.auditFirst === undefined ? {} : { auditFirst: plan.auditFirst }),
    };
  }
  /** Why a placed call failed that a command hung up; null for another one. */
  #cancelOf(placedId: string): ServiceError | null {
    return this.#hungUp.has(placedId)
      ? new ServiceError('call_gone', 'the call was hung up by a command before it was answered')
      : null;
  }
  /** The extension's leg that already listens to this call. */
  #earOf(extension: string, call: LiveCall): LiveLeg | undefined {
    return this.#deps.live
      .calls()
      .flatMap(({ legs }) => legs)
      .find((leg) => leg.extension === extension && call.legs.some(({ id }) => id === leg.listens_to));
  }
  /** A leg that already listens changes how it listens; nothing rings. */
  #again(ear: LiveLeg, call: LiveCall, part: Parameters<CallVerbs['listenAs']>[1]): Plan {
    const { engine, live } = this.#deps;
    const { does, channel: to } = part;
    return {
      action: `calls.${does}`,
      call_id: call.id,
      leg_id: to,
      extension: ear.extension,
      own_call_id: ear.call,
      expects: [],
      send: (action_id) => engine.listenAs(ear.id, part, { action_id }),
      confirmed: () => {
        const now = live.leg(ear.id);
        return now?.listens_to === to && now.listenings > ear.listenings;
      },
      failed: () => (live.leg(ear.id) === undefined || live.leg(to) === undefined ? gone() : null),
      waitingFor: 'the own leg to listen in the new way',
      detail: { leg_id: to, listened_to: live.leg(to)?.extension ?? null, switched: true },
      auditFirst: true,
    };
  }
}
