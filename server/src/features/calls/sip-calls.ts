import { ignoreEnded } from '../../commands/confirm.ts';
import { ServiceError } from '../../core/errors.ts';
import type { CallVerbs } from '../../ports/engine-verbs.ts';
import type { DeviceState } from '../../ports/engine-state.ts';
import type { LiveView } from '../../ports/live.ts';
import type { SipCalls } from '../../ports/sip.ts';

const IDLE: ReadonlySet<DeviceState | undefined> = new Set(['NOT_INUSE', 'UNAVAILABLE']);

export const createSipCalls = (
  live: Pick<LiveView, 'live' | 'calls' | 'device'>,
  engine: Pick<CallVerbs, 'sipPortsOf' | 'hangup'>,
): SipCalls => ({
  mayTalk: (device) => !IDLE.has(live.device(device)?.state),
  async endOver(devices, ports) {
    if (!live.live) throw new ServiceError('engine_unavailable', 'the engine is not connected');
    const legs = live
      .calls()
      .flatMap((call) => call.legs)
      .filter(({ endpoint }) => endpoint !== null && devices.has(endpoint));
    const end = async ({ id }: (typeof legs)[number]): Promise<void> => {
      const used = await engine.sipPortsOf(id);
      if (!used.some((port) => ports.has(port))) return;
      await engine.hangup(id).catch(ignoreEnded);
    };
    await Promise.all(legs.map(end));
  },
});
