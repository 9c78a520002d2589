import type { ChannelId } from '@offhook/contract/ids.ts';
import type { ExtensionFeatures } from '../../ports/engine-state.ts';
import type { EngineVerbs, WakeRequest } from '../../ports/engine-verbs.ts';
import type { Engine, EngineStatus, SipRefusal } from '../../ports/engine.ts';
import { callerActions } from './actions/callers.ts';
import { callActions } from './actions/calls.ts';
import { storeActions } from './actions/customers.ts';
import { featureActions } from './actions/features.ts';
import { memberActions } from './actions/members.ts';
import { switchActions } from './actions/switches.ts';
import { phoneActions } from './actions/phones.ts';
import { memberOf } from './events/names.ts';
import type { SystemEvent } from './events/system.ts';
import { FactFlow } from './fact-flow.ts';
import { FactReader } from './fact-reader.ts';
import { featureReader } from './feature-reader.ts';
import { createHealthCalls } from './health-call.ts';
import type { HealthCalls } from './health-call.ts';
import { EngineLink } from './link.ts';
import type { LinkOptions } from './link.ts';

export interface AsteriskEngineOptions extends LinkOptions {
  /** Called for every SIP request that the engine rejected. */
  readonly refused?: (refusal: SipRefusal) => void;
  /** Called for every call that waits for an app. */
  readonly wake?: (request: WakeRequest) => void;
  /** Limit of events that wait for the consumer; 200,000. */
  readonly buffer?: number;
}
export interface AsteriskEngine extends Engine, EngineVerbs {
  /** For support: the last unreadable frames, newest last. */
  malformed(): readonly string[];
  /** Places a test call, which stream, history and live view leave out. */
  readonly placeHealthCall: HealthCalls['place'];
  diagnostics(): { readonly dropped: number; readonly strays: number; readonly resyncs: number };
}

const BUFFER = 200_000;

export const createAsteriskEngine = (options: AsteriskEngineOptions): AsteriskEngine => {
  const { node, clock } = options;
  const log = options.log.child({ part: 'engine', node });
  let consumed = false;

  const flow = new FactFlow({ clock, log, most: options.buffer ?? BUFFER, overflowed: () => link.want() });
  const reportFeatures = (extension: string, features: ExtensionFeatures): void =>
    flow.receive({ at: clock.now(), type: 'extension.features', extension, features });
  const changed = featureReader({
    ami: () => link.actions,
    report: reportFeatures,
    failed: () => link.want(),
  });
  const system = (event: SystemEvent): void => {
    if (event.type === 'reload') link.reloaded();
    else if (event.type === 'features') changed.read(event.extension);
    else if (event.type === 'switch') flow.receive({ at: clock.now(), ...event.fact });
    else if (event.type === 'phone') flow.receive({ at: clock.now(), ...event.fact });
    else if (event.type === 'wake') options.wake?.(event.request);
    else if (event.type === 'refusal') options.refused?.(event.refusal);
    else if (event.type === 'shutdown') {
      link.lose(event.restart ? 'the engine is restarting' : 'the engine is shutting down');
    }
  };
  const requireActions = () => link.requireActions();
  const healthCalls = createHealthCalls(requireActions, clock);
  const facts = new FactReader({
    node,
    health: healthCalls.seen,
    known: flow.known,
    now: () => clock.now(),
    emit: (event) => flow.receive(event),
    system,
    suspicious: () => link.suspect(),
  });
  const link = new EngineLink({ ...options, log, flow, facts });

  return {
    node,
    status: (): EngineStatus => ({
      node,
      ...link.status(),
      unreached: flow.unreached,
      counters: { ...facts.counters(), drift: flow.drift, ...link.counters() },
    }),
    async *events(signal) {
      if (consumed) throw new Error('the events of an engine have one consumer');
      consumed = true;
      link.begin();
      const ended = AbortSignal.any([signal, link.stopped]);
      try {
        while (!ended.aborted) {
          const batch = await flow.take(ended);
          if (batch.length > 0) yield batch;
          // The generator resumes only after the consumer has processed the batch.
          if (flow.drained) link.consumed();
        }
      } finally {
        consumed = false;
      }
    },
    resync: () => link.want(),
    resynced: () => link.shown(),
    settled: (ms) => link.settled(ms),
    async roundTrip(ms) {
      await requireActions().action('Ping', {}, { ms });
    },
    ...memberActions(requireActions),
    ...phoneActions(requireActions, (fact) => flow.receive({ at: clock.now(), ...fact })),
    ...switchActions(requireActions, (fact) => flow.receive({ at: clock.now(), ...fact })),
    ...callActions(requireActions),
    ...featureActions(requireActions, reportFeatures),
    ...storeActions(requireActions, (work) => link.aside(work)),
    ...callerActions(requireActions, (id: ChannelId) => flow.known.channel(id)?.name),
    memberOf,
    close: () => link.close(),
    placeHealthCall: healthCalls.place,
    malformed: () => facts.malformed(),
    diagnostics: () => ({ dropped: flow.dropped, ...link.diagnostics() }),
  };
};
