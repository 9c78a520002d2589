/** Proves each way to the engine from its own machine: a phone of the service is called by the engine and hears itself. */
import { randomBytes } from 'node:crypto';
import type { PathFinding, PathWay } from '@offhook/contract/path-check.ts';
import { silent } from '../../../core/log.ts';
import type { Clock } from '../../../ports/clock.ts';
import { AmiConnection } from '../ami/connection.ts';
import { DOCTOR, DOCTOR_EXTEN, HEALTH_CONTEXT } from '../conf/call-contexts.ts';
import type { Instance } from '../conf/instance.ts';
import { openWire } from '../phone/media.ts';
import { tryWeb } from './web.ts';
import { waysOf } from './site-ways.ts';
import type { TurnLogin } from './site-ways.ts';
import { Blocked, STEP_MS, at, findingOf, openMediaRelay, tryWay } from './way.ts';
import type { Address, Line, Tried } from './way.ts';

const NEAR: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
const TURN_SECONDS = 60;

export interface DiagnoseOptions {
  readonly clock: Clock;
  readonly signIn: TurnLogin;
  /** Origin of the service's own HTTP port. */
  readonly web: string;
  /** Receives each finding at once. */
  readonly found: (finding: PathFinding) => void;
  /** Ends the check. */
  readonly signal: AbortSignal;
}
/** Every way that the site has, one after the other, against its own addresses. Throws `engine_unavailable`. */
export async function diagnose(
  instance: Instance,
  { clock: running, signIn, web, found, signal }: DiagnoseOptions,
): Promise<void> {
  // An end of the check cuts every wait short; what was registered is then taken back without waiting for the answer.
  const clock: Clock = {
    now: () => running.now(),
    sleep: (ms, until) => running.sleep(ms, until === undefined ? signal : AbortSignal.any([until, signal])),
  };
  const { sip, tls, turn, password, ...authorities } = await waysOf(instance);
  const ca = `${authorities.trusted}\n${authorities.ca}`;
  const near = NEAR[sip.host] ?? sip.host;
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
  const line = (server: Address): Line => ({
    server,
    near: NEAR[server.host] ?? server.host,
    password,
    clock,
    call,
  });
  const attempt = async (way: PathWay, tried: Tried, of: Line): Promise<void> => {
    if (!signal.aborted) found(await findingOf(way, () => tryWay(of, tried)));
  };
  const direct = { openWire: () => openWire(near), media: `from ${near}` };
  try {
    const server = { host: near, port: sip.port };
    await attempt('udp', { protocol: 'UDP', ...direct }, line(server));
    await attempt('tcp', { protocol: 'TCP', ...direct }, line(server));
    for (const { host, port } of tls)
      await attempt('tls', { protocol: 'TLS', ca, ...direct }, line({ host: NEAR[host] ?? host, port }));
    // Several pages may be such phones at the same time, so that none is found by calling it: it calls the echo.
    const { call: _, ...calling } = line(server);
    if (!signal.aborted) found(await findingOf('web', () => tryWeb(web, calling)));
    if (turn !== null) {
      const login = signIn(DOCTOR, TURN_SECONDS);
      const tried: Tried = {
        protocol: 'UDP',
        media: `through TURN at ${at(turn)}`,
        // A phone on this machine is given the loopback address, which nothing is relayed to; the engine has the other too.
        openWire: () =>
          openMediaRelay(turn, login, (host, relay) => (host.startsWith('127.') ? relay : host)),
      };
      await attempt('turn', tried, line(server));
    }
  } finally {
    ami.close();
  }
}
