/**
 * Tests each network path to the engine, on the engine's machine: the engine calls a phone of the service, which must receive its
 * own sound.
 */
import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import type { PathFinding, PathWay } from '@offhook/contract/path-check.ts';
import { silent } from '../../../core/log.ts';
import type { Clock } from '../../../ports/clock.ts';
import { AmiConnection } from '../ami/connection.ts';
import { DOCTOR, DOCTOR_EXTEN, HEALTH_CONTEXT } from '../conf/call-contexts.ts';
import type { Instance } from '../conf/instance.ts';
import { openWire } from '../phone/media.ts';
import { tryWeb } from './web.ts';
import { wayOver, waysOf } from './site-ways.ts';
import type { TurnLogin } from './site-ways.ts';
import { Blocked, STEP_MS, at, findingOf, openMediaRelay, tryWay } from './way.ts';
import type { Address, Line, RelayWanted, Tried } from './way.ts';

const NEAR: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
const TURN_SECONDS = 60;

export interface DiagnoseOptions {
  readonly clock: Clock;
  readonly signIn: TurnLogin;
  /** Origins of the service's own HTTP port, one for each family that it listens on. */
  readonly web: readonly string[];
  /** Receives each finding at once. */
  readonly found: (finding: PathFinding) => void;
  /** Ends the check. */
  readonly signal: AbortSignal;
}
const isLoopback = (host: string): boolean => host.startsWith('127.') || host === '::1';
/** Every way that the site has, over IPv4 and IPv6, one after the other, against its own addresses. Throws `engine_unavailable`. */
export async function diagnose(
  instance: Instance,
  { clock: running, signIn, web, found, signal }: DiagnoseOptions,
): Promise<void> {
  // An end of the check cuts every wait short; what was registered is then taken back without waiting for the answer.
  const clock: Clock = {
    now: () => running.now(),
    sleep: (ms, until) => running.sleep(ms, until === undefined ? signal : AbortSignal.any([until, signal])),
  };
  const { families, password, ...authorities } = await waysOf(instance);
  const ca = `${authorities.trusted}\n${authorities.ca}`;
  const ami = await AmiConnection.forActions(instance, { clock, log: silent });
  const call = async (): Promise<void> => {
    const pair = `health-${randomBytes(6).toString('hex')}-${Math.floor(clock.now() / 1000)}`;
    const answer = await ami.action('Originate', {
      Channel: `PJSIP/${DOCTOR}`,
      Context: HEALTH_CONTEXT,
      Exten: DOCTOR_EXTEN,
      Priority: '1',
      Timeout: String(STEP_MS),
      Async: 'true',
      ChannelId: `${pair}.1`,
    });
    if (!answer.ok)
      throw new Blocked(
        'engine_refused',
        { reason: answer.message },
        `the engine places no call: ${answer.message}`,
      );
  };
  const line = ({ host, port }: Address): Line => {
    const near = NEAR[host] ?? host;
    // On this machine the site is called by another name than its certificate has.
    return { server: { host: near, port }, reached: near, named: false, near, password, clock, call };
  };
  const attempt = async (way: PathWay, work: () => Promise<string>): Promise<void> => {
    if (!signal.aborted) found(await findingOf(way, work));
  };
  try {
    for (const { six, sip, tls, turn } of families) {
      const plain = line(sip);
      const { near } = plain;
      const direct = { openWire: () => openWire(near), media: `from ${near}` };
      const over = (way: Parameters<typeof wayOver>[0], of: Line, tried: Tried): Promise<void> =>
        attempt(wayOver(way, six), () => tryWay(of, tried));
      await over('udp', plain, { protocol: 'UDP', ...direct });
      await over('tcp', plain, { protocol: 'TCP', ...direct });
      for (const one of tls) await over('tls', line(one), { protocol: 'TLS', ca, ...direct });
      // Several pages may be such phones at the same time, so that none is found by calling it: it calls the echo.
      const { call: _, ...calling } = plain;
      for (const origin of web.filter((one) => one.includes('[') === six))
        await attempt(wayOver('web', six), () => tryWeb(origin, calling));
      if (turn === null) continue;
      const login = signIn(DOCTOR, TURN_SECONDS);
      const relay: RelayWanted = {
        server: turn,
        reached: turn.host,
        // A phone on this machine is given the loopback address, which nothing is relayed to; the engine has the others too.
        engineAt: (host, relayed) => (isLoopback(host) || isIP(host) !== isIP(relayed) ? relayed : host),
      };
      const media = `through TURN at ${at(turn)}`;
      await over('turn', plain, { protocol: 'UDP', media, openWire: () => openMediaRelay(relay, login) });
    }
  } finally {
    ami.close();
  }
}
