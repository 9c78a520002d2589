/** Proves each way to the engine from its own machine: a phone of the service is called by the engine and hears itself. */
import { randomBytes } from 'node:crypto';
import { silent } from '../../../core/log.ts';
import type { Clock } from '../../../ports/clock.ts';
import { AmiConnection } from '../ami/connection.ts';
import { DOCTOR, DOCTOR_EXTEN, HEALTH_CONTEXT } from '../conf/call-contexts.ts';
import type { Instance } from '../conf/instance.ts';
import { openWire } from '../phone/media.ts';
import { waysOf } from './site-ways.ts';
import type { TurnLogin } from './site-ways.ts';
import { Blocked, STEP_MS, at, findingOf, openMediaRelay, tryWay } from './way.ts';
import type { Address, Line, Tried, Way, WayFinding } from './way.ts';

const NEAR: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
const TURN_SECONDS = 60;

/** Every way that the site has, one after the other, against its own addresses. Throws `engine_unavailable`. */
export async function diagnose(
  instance: Instance,
  { clock, turnLogin }: { readonly clock: Clock; readonly turnLogin: TurnLogin },
): Promise<readonly WayFinding[]> {
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
    if (!answer.ok) throw new Blocked(`the engine places no call: ${answer.message}`);
  };
  const findings: WayFinding[] = [];
  const line = (server: Address): Line => ({
    server,
    near: NEAR[server.host] ?? server.host,
    password,
    clock,
    call,
  });
  const attempt = async (way: Way, server: Address, tried: Tried): Promise<void> =>
    void findings.push(await findingOf(way, () => tryWay(line(server), tried)));
  const direct = { openWire: () => openWire(near), media: `from ${near}` };
  try {
    const server = { host: near, port: sip.port };
    await attempt('udp', server, { protocol: 'UDP', ...direct });
    await attempt('tcp', server, { protocol: 'TCP', ...direct });
    for (const { host, port } of tls)
      await attempt('tls', { host: NEAR[host] ?? host, port }, { protocol: 'TLS', ca, ...direct });
    if (turn !== null) {
      const login = turnLogin(DOCTOR, TURN_SECONDS);
      await attempt('turn', server, {
        protocol: 'UDP',
        media: `through TURN at ${at(turn)}`,
        // A phone on this machine is given the loopback address, which nothing is relayed to; the engine has the other too.
        openWire: () =>
          openMediaRelay(turn, login, (host, relay) => (host.startsWith('127.') ? relay : host)),
      });
    }
  } finally {
    ami.close();
  }
  return findings;
}
