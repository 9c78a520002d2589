/** Proves each way to the engine by a phone of the service's own that registers, is called and hears itself. */
import { createHmac, randomBytes } from 'node:crypto';
import { isIPv6 } from 'node:net';
import path from 'node:path';
import { messageOf } from '../../../core/errors.ts';
import { textOf } from '../../../core/files.ts';
import { silent } from '../../../core/log.ts';
import type { Clock } from '../../../ports/clock.ts';
import { AmiConnection } from '../ami/connection.ts';
import { securedTransports } from '../apply/handshake.ts';
import { lastOf, readSections } from '../apply/sections.ts';
import { DOCTOR, DOCTOR_EXTEN, HEALTH_CONTEXT } from '../conf/call-contexts.ts';
import type { Instance } from '../conf/instance.ts';
import { etcDir, tlsDir } from '../conf/instance.ts';
import { TURN_FILE } from '../conf/turn-file.ts';
import { readFileOf } from '../conf/write.ts';
import { openMedia, openWire } from '../phone/media.ts';
import type { Media, MediaWire } from '../phone/media.ts';
import { header, methodOf, statusOf, uriOf } from '../phone/message.ts';
import { openTransport, randomTag } from '../phone/transport.ts';
import type { Dialog } from '../phone/transport.ts';
import { openRelay } from '../turn/relay.ts';
import { readWanted } from '../turn/server.ts';

export type Way = 'udp' | 'tcp' | 'tls' | 'turn';
export interface WayFinding {
  readonly way: Way;
  readonly ok: boolean;
  /** One sentence. */
  readonly detail: string;
}
interface Address {
  readonly host: string;
  readonly port: number;
}
const STEP_MS = 5_000;
const HEARD = 10;
const LOOK_MS = 20;
const NEAR: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
const at = ({ host, port }: Address): string => `${isIPv6(host) ? `[${host}]` : host}:${port}`;

/** What a step waited for in vain, as one sentence. */
class Blocked extends Error {}
async function within<T>(work: Promise<T>, sentence: string, clock: Clock): Promise<T> {
  const late = new AbortController();
  const timeout = clock.sleep(STEP_MS, late.signal).then(() => {
    throw new Blocked(sentence);
  });
  try {
    return await Promise.race([work, timeout]);
  } catch (error) {
    throw error instanceof Blocked ? error : new Blocked(`${sentence}: ${messageOf(error)}`);
  } finally {
    late.abort();
    timeout.catch(() => undefined);
  }
}
interface Line {
  readonly server: Address;
  readonly password: string;
  readonly clock: Clock;
  /** Has the engine call the account. */
  readonly call: () => Promise<void>;
}
interface Tried {
  readonly protocol: 'UDP' | 'TCP' | 'TLS';
  readonly ca?: string;
  readonly openWire: () => Promise<MediaWire>;
  /** The way of the media, for the sentence. */
  readonly media: string;
}
/** Registers, is called, answers and hears what it sends. Throws `Blocked`. */
async function tryWay(
  { server, password, clock, call }: Line,
  { protocol, ca, openWire: open, media: way }: Tried,
) {
  const signalling = `SIP over ${protocol} at ${at(server)}`;
  const wire = await open();
  let media: Media | undefined;
  const invited = Promise.withResolvers<void>();
  let ended = false;
  let answered: Dialog | null = null;
  const transport = await within(
    openTransport({
      server,
      username: DOCTOR,
      password,
      ...(ca === undefined ? {} : { ca }),
      tcp: protocol === 'TCP',
      at: { host: NEAR[server.host] ?? server.host, port: 0 },
      onRequest(m) {
        const method = methodOf(m);
        if (method === 'INVITE' && media !== undefined) {
          answered = {
            callId: header(m, 'call-id'),
            local: `${header(m, 'to')};tag=${randomTag()}`,
            remote: header(m, 'from'),
            target: uriOf(header(m, 'contact')),
            cseq: 0,
          };
          const tag = answered.local.split(';tag=')[1]!;
          transport.reply(m, { status: 200, reason: 'OK', tag, body: media.sdp() });
          media.connect(m.body);
          media.play('tone');
        } else if (method === 'ACK') invited.resolve();
        else {
          if (method === 'BYE') ended = true;
          transport.reply(m, { status: 200, reason: 'OK' });
        }
      },
    }),
    `${signalling} takes no connection`,
    clock,
  ).catch((error: unknown) => {
    wire.close();
    throw error;
  });
  const address = `<sip:${DOCTOR}@${at(server)}>`;
  const registration: Dialog = {
    callId: randomTag(),
    local: `${address};tag=${randomTag()}`,
    remote: address,
    target: `sip:${at(server)}`,
    cseq: 0,
  };
  const register = async (seconds: number): Promise<void> => {
    const headers = [['expires', String(seconds)]] as const;
    const { response } = transport.send(registration, 'REGISTER', { headers });
    const final = await within(
      response,
      `${signalling} does not answer: the port is blocked or wrong`,
      clock,
    );
    if (statusOf(final) !== 200)
      throw new Blocked(`${signalling} refuses a registration with ${final.start}`);
  };
  try {
    media = await openMedia({ wire });
    await register(60);
    await call();
    await within(invited.promise, `a call over ${signalling} does not arrive`, clock);
    const { counts } = media;
    for (const until = clock.now() + STEP_MS; counts.heard < HEARD; await clock.sleep(LOOK_MS)) {
      if (ended) throw new Blocked(`a call over ${signalling} was ended by the engine`);
      if (clock.now() > until)
        throw new Blocked(`no media comes back ${way}: UDP packets are blocked or go to a wrong address`);
    }
    return `registered, was called and heard itself ${way}`;
  } finally {
    media?.close();
    if (media === undefined) wire.close();
    if (answered !== null && !ended) void transport.send(answered, 'BYE').response;
    await register(0).catch(() => undefined);
    await transport.close();
  }
}

async function openMediaRelay(
  server: Address,
  login: { readonly username: string; readonly credential: string },
): Promise<MediaWire> {
  try {
    const relay = await openRelay(server, login, STEP_MS);
    // A phone on this machine is given the loopback address, which nothing is relayed to; the engine has the other too.
    const reached = (host: string): string => (host.startsWith('127.') ? relay.host : host);
    return { ...relay, send: (data, port, host) => relay.send(data, port, reached(host)) };
  } catch (error) {
    throw new Blocked(`TURN at ${at(server)} gives no relay: ${messageOf(error)}`);
  }
}
/** Every way that the site has, one after the other, against its own addresses. Throws `engine_unavailable`. */
export async function diagnose(
  instance: Instance,
  { clock, turnSecret }: { readonly clock: Clock; readonly turnSecret: string },
): Promise<readonly WayFinding[]> {
  const etc = etcDir(instance);
  const read = async (name: string): Promise<string> => (await readFileOf(etc, name, false)) ?? '';
  const sip = await read('pjsip.conf');
  const bound = readSections('pjsip.conf', new Map([['pjsip.conf', sip]])).sections.find(
    ({ name }) => name === 'transport-udp',
  );
  const found = /^\[?([^\]]+?)\]?:(\d+)$/.exec((bound && lastOf(bound, 'bind')) ?? '');
  const { 1: host = '127.0.0.1', 2: port = '5060' } = found ?? [];
  const near = NEAR[host] ?? host;
  const password = /^\[doctor\]\(credentials\)\nusername = doctor\npassword = (\S+)$/m.exec(
    await read('pjsip_shared.conf'),
  )?.[1];
  if (password === undefined)
    throw new Error('the engine has no account for tries yet: start the service once');
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
  const line = (server: Address): Line => ({ server, password, clock, call });
  const attempt = async (way: Way, server: Address, tried: Tried): Promise<void> => {
    try {
      findings.push({ way, ok: true, detail: await tryWay(line(server), tried) });
    } catch (error) {
      findings.push({ way, ok: false, detail: messageOf(error) });
    }
  };
  const direct = { openWire: () => openWire(near), media: `from ${near}` };
  try {
    const server = { host: near, port: Number(port) };
    await attempt('udp', server, { protocol: 'UDP', ...direct });
    await attempt('tcp', server, { protocol: 'TCP', ...direct });
    for (const secured of securedTransports(sip)) {
      const authorities = await Promise.all(
        ['trusted.pem', 'ca.pem'].map((name) => textOf(path.join(tlsDir(instance), name))),
      );
      const ca = authorities.join('\n');
      const to = { host: NEAR[secured.host] ?? secured.host, port: secured.port };
      await attempt('tls', to, { protocol: 'TLS', ca, ...direct });
    }
    const turn = readWanted(await read(TURN_FILE));
    if (turn !== null) {
      const username = `${Math.floor(clock.now() / 1000) + 60}:${DOCTOR}`;
      const credential = createHmac('sha1', turnSecret).update(username).digest('base64');
      await attempt('turn', server, {
        protocol: 'UDP',
        media: `through TURN at ${at(turn)}`,
        openWire: () => openMediaRelay(turn, { username, credential }),
      });
    }
  } finally {
    ami.close();
  }
  return findings;
}
