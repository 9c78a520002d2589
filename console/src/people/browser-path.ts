/** Tries the way of this browser to the exchange: a phone registers, calls the echo and counts the returned packets. */
import { Inviter, SessionState, UserAgent } from 'sip.js';
import type { Web } from 'sip.js';
import type { Client } from '@offhook/client';
import type { PathBrowserFindings, PathFault } from '@offhook/contract/path-check.ts';
import { openMicrophone, stopStream } from '../phone/devices.ts';
import { SoundHandler } from '../phone/line.ts';
import { RegistrationRefused, createRegistration } from '../phone/registration.ts';

type Phone = Awaited<ReturnType<Client['pathCheck']['phone']>>['phone'];
type Finding = PathBrowserFindings['findings'][number];
type Values = Readonly<Record<string, string>>;

/** Longest time of one step. */
const STEP_MS = 8_000;
const LOOK_MS = 200;
const HEARD = 10;
const ignored = (): void => undefined;

class Blocked extends Error {
  readonly fault: PathFault;
  readonly values: Values;
  constructor(fault: PathFault, values: Values, sentence: string) {
    super(sentence);
    this.fault = fault;
    this.values = values;
  }
}
async function within<T>(work: Promise<T>, late: Blocked): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late), STEP_MS);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
/** A tone instead of a voice, and the function that ends it. */
function tone(): { readonly stream: MediaStream; readonly end: () => void } {
  const context = new AudioContext();
  const oscillator = context.createOscillator();
  const out = context.createMediaStreamDestination();
  oscillator.connect(out);
  oscillator.start();
  return { stream: out.stream, end: () => void context.close() };
}
/** Resolves once the call is up; throws where the exchange refuses it. */
function established(session: Inviter, values: Values): Promise<void> {
  return new Promise((resolve, reject) => {
    session.stateChange.addListener((state) => {
      if (state === SessionState.Established) resolve();
    });
    session
      .invite({
        requestDelegate: {
          onReject: ({ message: { statusCode = 0 } }) =>
            reject(
              new Blocked(
                'call_refused',
                { ...values, status: String(statusCode) },
                `the test call was rejected with ${statusCode}`,
              ),
            ),
        },
      })
      .catch(reject);
  });
}
const received = async (peer: RTCPeerConnection): Promise<number> => {
  let packets = 0;
  for (const one of (await peer.getStats()).values() as Iterable<{ type: string; packetsReceived?: number }>)
    if (one.type === 'inbound-rtp') packets += one.packetsReceived ?? 0;
  return packets;
};
/** Waits until own packets come back. Throws `Blocked`. */
async function hears(peer: RTCPeerConnection, phone: Phone, relayed: boolean): Promise<void> {
  for (let waited = 0; waited < STEP_MS; waited += LOOK_MS) {
    if ((await received(peer)) >= HEARD) return;
    await new Promise((done) => setTimeout(done, LOOK_MS));
  }
  if (/^(connected|completed)$/.test(peer.iceConnectionState) && peer.connectionState !== 'connected')
    throw new Blocked('no_keys', { reason: peer.connectionState }, 'the DTLS handshake of the media failed');
  const media = `${phone.domain}${relayed ? ', TURN' : ''}`;
  throw new Blocked('no_media', { media }, `no media arrives from ${media}`);
}
async function call(phone: Phone, stream: MediaStream, relayed: boolean): Promise<void> {
  const { username, password, domain, ws_url, number, turn } = phone;
  const values = { protocol: 'WebSocket', address: ws_url };
  const [uri, target] = [username, number].map((user) => UserAgent.makeURI(`sip:${user}@${domain}`));
  if (uri === undefined || target === undefined) throw new Error(`${domain} is not a host name`);
  const agent = new UserAgent({
    uri,
    authorizationUsername: username,
    authorizationPassword: password,
    userAgentString: 'Offhook path check',
    logBuiltinEnabled: false,
    transportOptions: { server: ws_url, connectionTimeout: 5, keepAliveInterval: 0 },
    sessionDescriptionHandlerFactory: (session) =>
      new SoundHandler(session.userAgent.getLogger('media'), () => Promise.resolve(stream), {
        iceGatheringTimeout: 500,
        peerConnectionConfiguration: {
          iceServers: turn === null ? [] : [{ ...turn }],
          iceTransportPolicy: relayed ? 'relay' : 'all',
        },
      }),
  });
  const registration = createRegistration(agent, ignored);
  let session: Inviter | null = null;
  try {
    const closed = new Blocked('no_upgrade', { url: ws_url }, `${ws_url} does not accept SIP over WebSocket`);
    await within(agent.start(), closed).catch(() => Promise.reject(closed));
    const silent = new Blocked('no_answer', values, `SIP over WebSocket at ${ws_url} does not answer`);
    await registration.renew().catch((error: unknown) => {
      if (!(error instanceof RegistrationRefused)) throw silent;
      const status = error.message.replace('registration: ', '');
      const sentence = `SIP over WebSocket at ${ws_url} rejected the registration with ${status}`;
      throw new Blocked('registration_refused', { ...values, status }, sentence);
    });
    const inviter = new Inviter(agent, target, {
      sessionDescriptionHandlerOptions: { constraints: { audio: true, video: false } } as object,
    });
    session = inviter;
    const late = new Blocked('call_unanswered', values, 'a call is not answered');
    await within(established(inviter, values), late).catch((error: unknown) => {
      if (error instanceof Blocked || !relayed) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      const address = turn?.urls.join(', ') ?? '';
      throw new Blocked('no_relay', { address, reason }, `TURN at ${address} allocated no relay: ${reason}`);
    });
    const handler = inviter.sessionDescriptionHandler as Web.SessionDescriptionHandler | undefined;
    const peer = handler?.peerConnection;
    if (peer === undefined) throw new Error('the call has no peer connection');
    await hears(peer, phone, relayed);
  } finally {
    if (session?.state === SessionState.Established) await session.bye().catch(ignored);
    else if (session !== null) await session.dispose().catch(ignored);
    registration.end();
    await agent.stop().catch(ignored);
  }
}
async function findingOf(way: Finding['way'], phone: Phone): Promise<Finding> {
  const sound = tone();
  try {
    await call(phone, sound.stream, way === 'browser_turn');
    return { way, ok: true, detail: 'registered, called the echo and received its own packets' };
  } catch (error) {
    const detail = (error instanceof Error ? error.message : String(error)).slice(0, 300) || 'failed';
    const blocked = error instanceof Blocked ? error : null;
    return {
      way,
      ok: false,
      detail,
      fault: blocked?.fault ?? 'failed',
      values: { ...(blocked?.values ?? { reason: detail }) },
    };
  } finally {
    sound.end();
  }
}
/** Tries the ways of this browser, one after the other, and stores what was found. */
export async function checkBrowser(client: Client): Promise<void> {
  // A browser shows its addresses to the other side only while the page has a microphone.
  const microphone = await openMicrophone('').catch(() => null);
  if (microphone === null) {
    const detail = 'the browser does not allow this page to use the microphone';
    await client.pathCheck.browser({
      findings: [{ way: 'browser', ok: false, detail, fault: 'no_microphone' }],
    });
    return;
  }
  try {
    const { phone } = await client.pathCheck.phone();
    const findings = [await findingOf('browser', phone)];
    if (phone.turn !== null) findings.push(await findingOf('browser_turn', phone));
    await client.pathCheck.browser({ findings });
  } finally {
    stopStream(microphone);
  }
}
