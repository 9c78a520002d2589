/** The engine's verbs as moves of the simulated exchange. */
import { ServiceError } from '../../core/errors.ts';
import type { EngineVerbs } from '../../ports/engine-verbs.ts';
import type { CommandOptions, Engine } from '../../ports/engine.ts';
import { FEATURES_OFF } from '../../ports/engine-state.ts';
import type { World } from './world.ts';

/**
 * Runs a command, unless the link is down or a fault is set for it. A refusal stays set for a command that the service repeats
 * for each queue (`repeated`).
 */
export type Perform = (
  act: () => void | Promise<void>,
  options?: CommandOptions,
  repeated?: boolean,
) => Promise<void>;
export interface CommandVerbs
  extends Pick<Engine, 'pauseMember' | 'pauseEverywhere' | 'addMember' | 'removeMember'>, EngineVerbs {}

const notSimulated = (what: string): ServiceError =>
  new ServiceError('engine_refused', `the simulator does not ${what}`);

/** `record` writes the file of a recording that begins. */
export const commandVerbs = (
  world: World,
  record: (name: string) => Promise<void>,
  command: Perform,
): CommandVerbs => ({
  pauseMember: (name, iface, paused, why, options) =>
    command(() => {
      world.members.pause(name, iface, paused, why);
      world.serve();
    }, options),
  pauseEverywhere: (names, iface, paused, why, options) =>
    command(
      () => {
        for (const name of names) world.members.pause(name, iface, paused, why);
        world.serve();
      },
      options,
      true,
    ),
  addMember: (member, options) =>
    command(() => {
      const { queue: name, paused, reason: paused_reason, penalty } = member;
      world.members.add(name, member.interface, { paused, paused_reason, penalty });
      world.serve();
    }, options),
  removeMember: (name, iface, options) =>
    command(() => {
      world.members.remove(name, iface);
      world.lines.withdrawOffers(name, iface);
    }, options),
  keepFeatures: async (extension, changes, changed_at, options) => {
    await command(() => world.members.keep(extension, { ...changes, changed_at }), options);
    return world.members.features.get(extension) ?? FEATURES_OFF;
  },
  // Phones of the simulator show no names, so its store is always as it should be.
  storedCustomers: () => Promise.resolve(),
  keepCustomers: () => Promise.resolve(),
  storedCallerRules: () => Promise.resolve(),
  keepCallerRules: () => Promise.resolve(),
  forgetLastCallers: () => Promise.resolve(),
  // Its apps are always there or away, and no call waits for one.
  storedWakeable: () => Promise.resolve(),
  keepWakeable: () => Promise.resolve(),
  answerWake: () => Promise.resolve(),
  notifyPhones: (_endpoint, _event, options) =>
    command(() => {
      throw notSimulated('notify phones');
    }, options),
  signOutPhone: (_endpoint, _by, options) =>
    command(() => {
      throw notSimulated('sign out phones');
    }, options),
  showIdleAtPhone: () => Promise.resolve(),
  keepSwitch: (_name, _to, options) =>
    command(() => {
      throw notSimulated('night switches');
    }, options),
  placeCall: (call, options) => command(() => world.place(call), options),
  hangup: (channel, options) => command(() => world.hangup(channel), options),
  // It has no listening, and no SIP.
  sessionOf: () => Promise.resolve(null),
  sipPortsOf: () => Promise.resolve([]),
  blindTransfer: (channel, number, options) => command(() => world.blindTransfer(channel, number), options),
  hold: (channel, _others, options) => command(() => world.holdByCommand(channel), options),
  retrieve: (others, options) => command(() => world.retrieve(others), options),
  digit: (channel, _digit, options) => command(() => world.digit(channel), options),
  startRecording: (channel, name, options) =>
    command(async () => {
      world.channelOf(channel);
      await record(name);
      world.recording(channel, true);
    }, options),
  stopRecording: (channel, options) => command(() => world.recording(channel, false), options),
  pauseRecording: (channel, paused, options) => command(() => world.pauseRecording(channel, paused), options),
  setCallerPriority: (_queue, caller, priority, options) =>
    command(() => world.setPriority(caller, priority), options),
  takeCaller: (_queue, caller, to, options) => command(() => world.takeCaller(caller, to), options),
  listenAs: async () => Promise.reject(notSimulated('listen to calls')),
  consult: async () => Promise.reject(notSimulated('consult by command')),
  swapConsult: async () => Promise.reject(notSimulated('consult by command')),
  completeConsult: async () => Promise.reject(notSimulated('consult by command')),
  cancelConsult: async () => Promise.reject(notSimulated('consult by command')),
  park: async () => Promise.reject(notSimulated('park calls')),
});
